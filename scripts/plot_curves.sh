#!/usr/bin/env bash
# Draws learning curves as SVG on stdout:  plot_curves.sh TITLE "NAME:FILE"...
# Each file contains lines "step mean low high". The script uses plain awk, so it needs no plotting program.
set -euo pipefail
title=$1
shift

colours=("#1f6fb4" "#d1672b" "#3a9a4b" "#8a56b8")
index=0
for curve in "$@"; do
  awk -v name="${curve%%:*}" -v colour="${colours[index % 4]}" \
    '{ print $1, $2, $3, $4, colour, name }' "${curve#*:}"
  index=$((index + 1))
done | awk -v title="$title" '
  function x(step) { return left + (step - first) / (last - first) * width }
  function y(value) { return top + (high - value) / (high - low) * height }
  function text(at_x, at_y, anchor, what) {
    printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", at_x, at_y, anchor, what
  }
  function stroke(path, colour, size) {
    printf "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%d\"/>\n", path, colour, size
  }
  # Returns a round distance between ticks that divides the span into 5 to 13 parts.
  function tick_of(span,   unit) {
    unit = 10 ^ int(log(span / 5) / log(10) + (span / 5 < 1 ? -1 : 0))
    if (span / unit > 25) return 5 * unit
    return span / unit > 10 ? 2 * unit : unit
  }
  function axes(   d, v) {
    d = tick_of(high - low)
    for (v = d * int(low / d); v <= high; v += d) {
      if (v < low) continue
      stroke(sprintf("M%d %.1fh%d", left, y(v), width), "#ddd", 1)
      text(left - 8, y(v) + 4, "end", v)
    }
    d = tick_of(last - first)
    for (v = d * int(first / d); v <= last; v += d) {
      if (v < first) continue
      stroke(sprintf("M%.1f %dv%d", x(v), top, height), "#ddd", 1)
      text(x(v), top + height + 18, "middle", v)
    }
    text(left + width / 2, top + height + 40, "middle", "environment steps")
    text(left + width / 2, 24, "middle", title)
  }
  # Draws the line of the means, the band from the lowest to the highest value, and the name below.
  function draw(name, place,   k, begin, line, band) {
    for (k = 1; k <= rows[name]; ++k) {
      begin = k == 1 ? "M" : "L"
      line = line sprintf("%s%.1f %.1f", begin, x(step[name, k]), y(mean[name, k]))
      band = band sprintf("%s%.1f %.1f", begin, x(step[name, k]), y(most[name, k]))
    }
    for (k = rows[name]; k >= 1; --k) {
      band = band sprintf("L%.1f %.1f", x(step[name, k]), y(least[name, k]))
    }
    printf "<path d=\"%sZ\" fill=\"%s\" opacity=\"0.15\"/>\n", band, colour[name]
    stroke(line, colour[name], 2)
    place = top + height + 38 + 20 * place
    stroke(sprintf("M%d %dh24", left, place), colour[name], 2)
    text(left + 32, place + 4, "start", name)
  }
  {
    name = $6
    for (i = 7; i <= NF; ++i) name = name " " $i
    if (!(name in rows)) { names[++curves] = name; colour[name] = $5 }
    k = ++rows[name]
    step[name, k] = $1; mean[name, k] = $2; least[name, k] = $3; most[name, k] = $4
    if (NR == 1 || $1 < first) first = $1
    if (NR == 1 || $1 > last) last = $1
    if (NR == 1 || $3 < low) low = $3
    if (NR == 1 || $4 > high) high = $4
  }
  END {
    left = 70; top = 40; width = 560; height = 300
    if (last == first) last = first + 1
    if (high == low) high = low + 1
    size = sprintf("width=\"660\" height=\"%d\"", 396 + 20 * curves)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" %s font-family=\"sans-serif\"", size
    print " font-size=\"12\">"
    printf "<rect %s fill=\"white\"/>\n", size
    axes()
    for (c = 1; c <= curves; ++c) draw(names[c], c)
    print "</svg>"
  }'
