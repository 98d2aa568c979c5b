#include "rl_training/report/html.h"

#include <fmt/format.h>

#include "build_info.h"
#include "rl_training/report/page_assets.h"
#include "rl_training/util/hash.h"
#include "rl_training/util/text.h"

namespace rl_training {
namespace {

// The expression with which a Content-Security-Policy allows exactly this script or style.
std::string policy_hash(std::string_view text) {
  const auto hex = sha256_hex(text);
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return "'sha256-" + base64(bytes) + "'";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    unsigned group = 0;
    for (size_t j = 0; j < 3; ++j) {
      group = group << 8 | (j < count ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    }
    for (size_t j = 0; j < 4; ++j) {
      out += j <= count ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return out;
}

std::string html_document(const std::string& title, const std::string& body,
                          const std::string& data_json, const PageOptions& options) {
  const std::string style = std::string(chart_style()) + std::string(page_style());
  const auto library = chart_script();
  const auto script = page_script();
  std::string policy = "default-src 'none'; img-src data:; style-src " + policy_hash(style) +
                       "; script-src " + policy_hash(script);
  if (!library.empty()) policy += " " + policy_hash(library);
  policy += "; base-uri 'none'; form-action 'none'";

  std::string page = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  page += "<meta http-equiv=\"Content-Security-Policy\" content=\"" + policy + "\">\n";
  page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
  page += "<meta name=\"referrer\" content=\"no-referrer\">\n";
  if (options.reload_seconds > 0) {
    page += fmt::format("<meta http-equiv=\"refresh\" content=\"{}\">\n", options.reload_seconds);
  }
  page += "<link rel=\"icon\" href=\"data:,\">\n";
  page += "<title>" + html_escaped(title) + "</title>\n<style>" + style + "</style>\n</head>\n";
  page += "<body>\n<header><h1>" + html_escaped(title) +
          "</h1><button id=\"theme\" type=\"button\">Dark</button></header>\n<main>\n";
  page += body + "</main>\n<footer>Made by rl_training " RL_TRAINING_VERSION;
  if (!options.made_at.empty()) page += ", " + html_escaped(options.made_at);
  page += ".</footer>\n<script type=\"application/json\" id=\"data\">" + data_json + "</script>\n";
  if (!library.empty()) page += "<script>" + std::string(library) + "</script>\n";
  return page + "<script>" + std::string(script) + "</script>\n</body>\n</html>\n";
}

}  // namespace rl_training
