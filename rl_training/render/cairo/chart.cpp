#include "rl_training/render/chart.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "rl_training/util/error.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

constexpr double kWidth = 640, kPlotHeight = 300, kLeft = 68, kRight = 16, kTop = 34, kBottom = 46;
constexpr double kLegendLine = 17;
constexpr size_t kMostNames = 24;
struct Rgb {
  double red, green, blue;
};
// The same colours as in the HTML pages (report/page/report.css).
constexpr std::array<Rgb, 10> kPalette = {{{0.231, 0.490, 0.847},
                                           {0.851, 0.463, 0.169},
                                           {0.184, 0.620, 0.384},
                                           {0.761, 0.271, 0.604},
                                           {0.541, 0.388, 0.824},
                                           {0.702, 0.608, 0.114},
                                           {0.122, 0.639, 0.702},
                                           {0.824, 0.314, 0.290},
                                           {0.478, 0.525, 0.580},
                                           {0.604, 0.420, 0.247}}};

struct ChartRelease {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  void operator()(cairo_t* context) const { cairo_destroy(context); }
};
using ChartSurface = std::unique_ptr<cairo_surface_t, ChartRelease>;
using ChartContext = std::unique_ptr<cairo_t, ChartRelease>;

void check_chart(cairo_status_t status) {
  if (status == CAIRO_STATUS_SUCCESS) return;
  throw Error(ErrorKind::internal, std::string("cairo: ") + cairo_status_to_string(status));
}

cairo_status_t append_bytes(void* to, const unsigned char* data, unsigned int size) {
  static_cast<std::string*>(to)->append(reinterpret_cast<const char*>(data), size);
  return CAIRO_STATUS_SUCCESS;
}

size_t named_series(const Chart& chart) { return std::min(chart.series.size(), kMostNames); }

double chart_height(const Chart& chart) {
  return kTop + kPlotHeight + kBottom + kLegendLine * static_cast<double>(named_series(chart)) + 10;
}

struct Extent {
  double low = 0, high = 1;
  void widen(double part) {
    if (low == high) low -= 1, high += 1;
    const double more = part * (high - low);
    low -= more;
    high += more;
  }
};

class ChartPainter {
 public:
  ChartPainter(cairo_t* context, const Chart& chart, double top)
      : context_(context), chart_(chart), top_(top + kTop) {
    find_extents();
  }

  void paint() {
    axes();
    cairo_save(context_);
    cairo_rectangle(context_, kLeft, top_, kWidth - kLeft - kRight, kPlotHeight);
    cairo_clip(context_);
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      if (chart_.series[i].joined) band(chart_.series[i], i);
    }
    for (size_t i = 0; i < chart_.series.size(); ++i) {
      const auto& series = chart_.series[i];
      series.joined ? line(series, i) : dots(series, i);
    }
    cairo_restore(context_);
    legend();
  }

 private:
  void find_extents() {
    bool first = true, dotted = false;
    for (const auto& series : chart_.series) {
      dotted = dotted || !series.joined;
      for (const auto& point : series.points) {
        if (first) x_ = {point.x, point.x}, y_ = {point.low, point.high};
        first = false;
        x_ = {std::min(x_.low, point.x), std::max(x_.high, point.x)};
        y_ = {std::min(y_.low, point.low), std::max(y_.high, point.high)};
      }
    }
    x_.widen(dotted ? 0.03 : 0);
    y_.widen(0.04);
  }
  double x(double value) const {
    return kLeft + (value - x_.low) / (x_.high - x_.low) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return top_ + kPlotHeight - (value - y_.low) / (y_.high - y_.low) * kPlotHeight;
  }
  void color(size_t series, double alpha) {
    const auto& rgb = kPalette[series % kPalette.size()];
    cairo_set_source_rgba(context_, rgb.red, rgb.green, rgb.blue, alpha);
  }
  // `align` is 0 for text that starts at (at_x, at_y), 0.5 for centred text and 1 for text that
  // ends there.
  void text(const std::string& words, double at_x, double at_y, double align, double size = 12) {
    cairo_text_extents_t extents;
    cairo_set_font_size(context_, size);
    cairo_text_extents(context_, words.c_str(), &extents);
    cairo_move_to(context_, at_x - align * extents.x_advance, at_y);
    cairo_show_text(context_, words.c_str());
  }
  static std::string tick_text(double value) {
    const double size = std::abs(value);
    if (size >= 1e6) return fmt::format("{:g}M", value / 1e6);
    return size >= 1e4 ? fmt::format("{:g}k", value / 1e3) : fmt::format("{:g}", value);
  }
  void rule(double x1, double y1, double x2, double y2, double grey) {
    cairo_set_source_rgb(context_, grey, grey, grey);
    cairo_set_line_width(context_, 1);
    cairo_move_to(context_, x1, y1);
    cairo_line_to(context_, x2, y2);
    cairo_stroke(context_);
  }
  void axes() {
    const double bottom = top_ + kPlotHeight, right = kWidth - kRight;
    for (const double tick : chart_ticks(y_.low, y_.high, 5)) {
      rule(kLeft, y(tick), right, y(tick), 0.88);
      cairo_set_source_rgb(context_, 0.35, 0.35, 0.38);
      text(tick_text(tick), kLeft - 6, y(tick) + 4, 1);
    }
    for (const double tick : chart_ticks(x_.low, x_.high, 6)) {
      rule(x(tick), bottom, x(tick), bottom + 4, 0.6);
      cairo_set_source_rgb(context_, 0.35, 0.35, 0.38);
      text(tick_text(tick), x(tick), bottom + 17, 0.5);
    }
    rule(kLeft, bottom, right, bottom, 0.6);
    cairo_set_source_rgb(context_, 0.12, 0.12, 0.14);
    text(shortened(chart_.title, 80), kLeft, top_ - 12, 0, 14);
    text(chart_.x_label, (kLeft + right) / 2, bottom + 35, 0.5);
    cairo_save(context_);
    cairo_translate(context_, 16, top_ + kPlotHeight / 2);
    cairo_rotate(context_, -M_PI / 2);
    text(chart_.y_label, 0, 0, 0.5);
    cairo_restore(context_);
  }
  void band(const ChartSeries& series, size_t index) {
    if (series.points.size() < 2) return;
    for (const auto& point : series.points) cairo_line_to(context_, x(point.x), y(point.high));
    for (auto it = series.points.rbegin(); it != series.points.rend(); ++it) {
      cairo_line_to(context_, x(it->x), y(it->low));
    }
    cairo_close_path(context_);
    color(index, 0.18);
    cairo_fill(context_);
  }
  void dots(const ChartSeries& series, size_t index) {
    color(index, 1);
    cairo_set_line_width(context_, 1.8);
    for (const auto& point : series.points) {
      cairo_move_to(context_, x(point.x), y(point.low));
      cairo_line_to(context_, x(point.x), y(point.high));
      cairo_stroke(context_);
      cairo_arc(context_, x(point.x), y(point.y), 3.5, 0, 2 * M_PI);
      cairo_fill(context_);
    }
  }
  void line(const ChartSeries& series, size_t index) {
    color(index, 1);
    cairo_set_line_width(context_, 1.8);
    cairo_set_line_join(context_, CAIRO_LINE_JOIN_ROUND);
    for (const auto& point : series.points) cairo_line_to(context_, x(point.x), y(point.y));
    cairo_stroke(context_);
    if (series.points.size() > 1) return;
    cairo_arc(context_, x(series.points[0].x), y(series.points[0].y), 3, 0, 2 * M_PI);
    cairo_fill(context_);
  }
  void legend() {
    for (size_t i = 0; i < named_series(chart_); ++i) {
      const double at = top_ + kPlotHeight + kBottom + kLegendLine * (static_cast<double>(i) + 0.7);
      color(i, 1);
      cairo_rectangle(context_, kLeft, at - 8, 18, 4);
      cairo_fill(context_);
      cairo_set_source_rgb(context_, 0.2, 0.2, 0.22);
      const auto hidden = chart_.series.size() - kMostNames;
      const bool cut = i + 1 == kMostNames && chart_.series.size() > kMostNames;
      text(cut ? fmt::format("and {} more", hidden + 1) : shortened(chart_.series[i].name, 90),
           kLeft + 26, at, 0);
    }
  }

  cairo_t* context_;
  const Chart& chart_;
  double top_;
  Extent x_, y_;
};

double total_height(const std::vector<Chart>& charts) {
  double height = 0;
  for (const auto& chart : charts) height += chart_height(chart);
  return height;
}

void paint_charts(cairo_t* context, const std::vector<Chart>& charts) {
  cairo_set_source_rgb(context, 1, 1, 1);
  cairo_paint(context);
  cairo_select_font_face(context, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
  double top = 0;
  for (const auto& chart : charts) {
    ChartPainter(context, chart, top).paint();
    top += chart_height(chart);
  }
  check_chart(cairo_status(context));
}

}  // namespace

std::string encode_charts_svg(const std::vector<Chart>& charts) {
  std::string bytes;
  {
    const ChartSurface surface(
        cairo_svg_surface_create_for_stream(append_bytes, &bytes, kWidth, total_height(charts)));
    const ChartContext context(cairo_create(surface.get()));
    paint_charts(context.get(), charts);
    cairo_surface_finish(surface.get());
    check_chart(cairo_surface_status(surface.get()));
  }
  return bytes;
}

std::string encode_charts_png(const std::vector<Chart>& charts) {
  constexpr double kScale = 2;  // pixels per unit; 2 is sharp in print
  const ChartSurface surface(
      cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(kScale * kWidth),
                                 static_cast<int>(std::ceil(kScale * total_height(charts)))));
  const ChartContext context(cairo_create(surface.get()));
  check_chart(cairo_status(context.get()));
  cairo_scale(context.get(), kScale, kScale);
  paint_charts(context.get(), charts);
  std::string bytes;
  check_chart(cairo_surface_write_to_png_stream(surface.get(), append_bytes, &bytes));
  return bytes;
}

}  // namespace rl_training
