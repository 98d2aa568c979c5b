"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.documentElement;
  const charts = [];
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const dark = () => css("color-scheme") === "dark" || getComputedStyle(root).colorScheme === "dark";
  const short = (value) => {
    const size = Math.abs(value);
    return size >= 100 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toPrecision(3);
  };
  const element = (tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // Uses the theme of the system until the reader chooses another one.
  const button = document.getElementById("theme");
  const remembered = (() => {
    try { return localStorage.getItem("rl_training_theme"); } catch (error) { return null; }
  })();
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  const nameTheme = () => { button.textContent = dark() ? "Light" : "Dark"; };
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("rl_training_theme", root.dataset.theme); } catch (error) { /* lasts until reload */ }
    nameTheme();
    charts.forEach((chart) => chart.recolor());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    nameTheme();
    charts.forEach((chart) => chart.recolor());
  });
  nameTheme();

  // A click on a header sorts the table by that column. Numeric cells store their value in data-v.
  const sortBy = (table, column, header) => {
    const down = header.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", down ? "descending" : "ascending");
    const value = (row) => {
      const cell = row.cells[column];
      return cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v);
    };
    const rows = Array.from(table.tBodies[0].rows);
    rows.sort((a, b) => {
      const x = value(a), y = value(b);
      const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true });
      return down ? -order : order;
    });
    rows.forEach((row) => table.tBodies[0].appendChild(row));
  };
  document.querySelectorAll("table.sortable").forEach((table) => {
    Array.from(table.tHead.rows[0].cells).forEach((header, column) => {
      header.dataset.sort = "";
      header.addEventListener("click", () => sortBy(table, column, header));
    });
  });

  if (typeof Dygraph === "undefined") return;
  // The legend of dygraphs writes style attributes, which the page's security policy forbids. The
  // page has its own legend of buttons.
  Dygraph.PLUGINS = Dygraph.PLUGINS.filter((plugin) => plugin !== Dygraph.Plugins.Legend);
  const tick = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6) return Number((value / 1e6).toPrecision(4)) + "M";
    return size >= 1e4 ? Number((value / 1e3).toPrecision(4)) + "k" : String(Number(value.toPrecision(6)));
  };

  // Converts series {label, color, x, y, low, high, n} to rows on the union of their steps. Lines
  // without a band have no `low` and `high`.
  const rowsOf = (series, bands) => {
    const steps = new Map();
    series.forEach((one, index) => {
      one.x.forEach((x, i) => {
        if (!steps.has(x)) steps.set(x, new Array(series.length).fill(null));
        if (one.y[i] === null) return;
        const low = one.low ? one.low[i] : one.y[i], high = one.high ? one.high[i] : one.y[i];
        steps.get(x)[index] = bands ? [low, one.y[i], high] : one.y[i];
      });
    });
    const empty = bands ? [null, null, null] : null;
    return Array.from(steps.keys()).sort((a, b) => a - b)
      .map((x) => [x].concat(steps.get(x).map((cell) => (cell === null ? empty : cell))));
  };

  class Chart {
    constructor(place, options) {
      this.options = options;
      this.box = place.appendChild(element("div", options.low ? "chart low" : "chart"));
      this.readout = place.appendChild(element("div", "readout"));
      this.visible = null;
      charts.push(this);
    }
    draw(series, bands, visible) {
      if (this.graph) this.graph.destroy();
      this.series = series;
      const rows = rowsOf(series, bands);
      if (rows.length === 0) {
        this.graph = null;
        this.box.textContent = "no values";
        return;
      }
      this.graph = new Dygraph(this.box, rows, {
        labels: ["x"].concat(series.map((one, index) => index + " " + one.label)),
        colors: series.map((one) => one.color),
        visibility: visible || series.map(() => true),
        customBars: bands, connectSeparatedPoints: true, fillAlpha: 0.16,
        strokeWidth: this.options.thin ? 1 : 2, stepPlot: Boolean(this.options.steps),
        xlabel: this.options.x, ylabel: this.options.y, axisLabelFontSize: 12,
        axes: { x: { axisLabelFormatter: tick }, y: { axisLabelFormatter: tick, axisLabelWidth: 56 } },
        drawPoints: rows.length < 2, pointSize: 3, highlightCircleSize: 4,
        xRangePad: 4, yRangePad: 10,
        gridLineColor: css("--line"), axisLineColor: css("--line"),
        highlightCallback: (event, x, points) => this.tell(x, points),
        unhighlightCallback: () => this.rest(),
      });
      this.rest();
    }
    rest() { this.readout.textContent = this.options.hint || ""; }
    tell(x, points) {
      this.readout.textContent = "";
      this.readout.appendChild(element("b", "", this.options.x + " " + (Number.isInteger(x) ? x : short(x))));
      points.slice(0, 12).forEach((point) => {
        const one = this.series[parseInt(point.name, 10)];
        const i = one.x.indexOf(x);
        if (i < 0 || one.y[i] === null) return;
        let text = "  " + one.label + " " + short(one.y[i]);
        if (one.low && one.high[i] > one.low[i]) text += " [" + short(one.low[i]) + ", " + short(one.high[i]) + "]";
        if (one.n) text += " n=" + one.n[i];
        const part = element("span", "", text);
        part.style.color = one.color;
        this.readout.appendChild(part);
        this.readout.appendChild(document.createTextNode("   "));
      });
    }
    recolor() {
      if (this.graph) this.graph.updateOptions({ gridLineColor: css("--line"), axisLineColor: css("--line") });
    }
  }

  const colors = ["#3b7dd8", "#d9762b", "#2f9e62", "#c2459a", "#8a63d2", "#b39b1d", "#1fa3b3", "#d2504a", "#7a8694", "#9a6b3f"];
  const colorOf = (index) => colors[index % colors.length];

  // Draws a chart only when it comes near the visible area, or for printing. A long page therefore
  // opens as fast as a short one.
  const waiting = new Map();
  const drawNow = (box) => {
    const draw = waiting.get(box);
    waiting.delete(box);
    observer.unobserve(box);
    if (draw) draw();
  };
  const observer = new IntersectionObserver((entries) => {
    entries.filter((entry) => entry.isIntersecting).forEach((entry) => drawNow(entry.target));
  }, { rootMargin: "300px" });
  const whenSeen = (box, draw) => {
    waiting.set(box, draw);
    observer.observe(box);
  };
  window.addEventListener("beforeprint", () => Array.from(waiting.keys()).forEach(drawNow));

  // All charts of a task share one legend.
  const addTask = (task, place) => {
    const visible = task.groups.map(() => true);
    const drawers = [];
    const legend = place.querySelector(".legend");
    const addDrawer = (chart, draw) => whenSeen(chart.box, () => {
      drawers.push(draw);
      draw();
    });
    const toggle = (index, button) => {
      visible[index] = !visible[index];
      button.setAttribute("aria-pressed", String(visible[index]));
      drawers.forEach((draw) => draw());
    };
    task.groups.forEach((label, index) => {
      const made = legend.appendChild(element("button", "c" + (index % 10)));
      made.type = "button";
      made.setAttribute("aria-pressed", "true");
      made.appendChild(element("span", "swatch"));
      made.appendChild(document.createTextNode(label));
      made.addEventListener("click", () => toggle(index, made));
    });
    const all = place.querySelector(".all");
    all.addEventListener("click", () => {
      const show = !visible.every(Boolean);
      visible.fill(show);
      legend.querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(show)));
      drawers.forEach((draw) => draw());
    });

    const seeds = place.querySelector(".seeds");
    const curves = place.querySelector(".curves");
    task.curves.forEach((clock) => {
      if (clock.series.length === 0) return;
      const chart = new Chart(curves, {
        x: clock.clock, y: "return", hint: "Drag to zoom, double-click to see all; hover for values." });
      const groups = clock.series.map((one) => ({ ...one, label: task.groups[one.group], color: colorOf(one.group) }));
      const stepsOf = new Map(groups.map((one) => [one.group, one.x]));
      const runs = clock.runs.map((one) => ({ ...one, x: stepsOf.get(one.group), label: task.groups[one.group] + " seed " + one.seed, color: colorOf(one.group) }));
      let drawn = "";
      const draw = () => {
        const single = seeds.checked;
        const series = single ? runs : groups;
        const shown = series.map((one) => visible[one.group]);
        if (drawn === String(single) && chart.graph) {
          chart.graph.updateOptions({ visibility: shown });
          return;
        }
        drawn = String(single);
        chart.options.thin = single;
        chart.draw(series, !single, shown);
      };
      addDrawer(chart, draw);
    });
    if (curves === null) seeds.parentElement.remove();
    seeds.addEventListener("change", () => drawers.forEach((draw) => draw()));

    if (task.profile) {
      const chart = new Chart(place.querySelector(".profile"), { x: "return", y: "share of runs above", low: true, steps: true });
      const series = task.profile.shares.map((y, group) => ({ x: task.profile.x, y, group, label: task.groups[group], color: colorOf(group) }))
        .filter((one) => one.y.length > 0);
      const draw = () => {
        const shown = series.map((one) => visible[one.group]);
        if (chart.graph) chart.graph.updateOptions({ visibility: shown });
        else chart.draw(series, false, shown);
      };
      addDrawer(chart, draw);
    }

    const seriesOf = (clock, metric) => (clock.values[metric] || []).map((one) => ({
      ...one, label: task.groups[one.group], color: colorOf(one.group) }));
    const validation = place.querySelector(".validation");
    task.metrics.forEach((clock) => {
      if (validation === null) return;
      Object.keys(clock.values).filter((metric) => metric.startsWith("validation_")).forEach((metric) => {
        const chart = new Chart(validation, { x: clock.clock, y: metric.slice("validation_".length).replaceAll("_", " "), low: true });
        const series = seriesOf(clock, metric);
        const draw = () => {
          const shown = series.map((one) => visible[one.group]);
          if (chart.graph) chart.graph.updateOptions({ visibility: shown });
          else chart.draw(series, true, shown);
        };
        addDrawer(chart, draw);
      });
    });

    const details = place.querySelector("details.metrics");
    if (details === null) return;
    const select = details.querySelector("select");
    let metricCharts = null;
    const drawMetrics = () => {
      if (!details.open) return;
      if (metricCharts === null) {
        metricCharts = task.metrics.map((clock) => new Chart(details.querySelector(".metric"), {
          x: clock.clock, y: "", low: true, hint: "Mean over seeds; the band is from the smallest to the largest." }));
      }
      task.metrics.forEach((clock, index) => {
        const series = seriesOf(clock, select.value);
        metricCharts[index].draw(series, true, series.map((one) => visible[one.group]));
      });
    };
    select.addEventListener("change", drawMetrics);
    details.addEventListener("toggle", drawMetrics);
    drawers.push(drawMetrics);
  };
  data.tasks.forEach((task, index) => addTask(task, document.getElementById("task" + index)));
})();
