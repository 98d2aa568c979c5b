#!/usr/bin/env bash
# Opens reports in a real browser. If the browser, Node.js or playwright-core is missing, the script
# exits with 77, which CTest shows as skipped. `make test-web` installs all three.
#   tests/web/run.sh PROGRAM WORK_DIR [NODE_MODULES]
set -euo pipefail
program=$1 work=$2 modules=${3:-$2/node_modules}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [[ -z $browser ]]; then
  echo "SKIPPED: no chromium"
  exit 77
fi
if ! command -v node >/dev/null; then
  echo "SKIPPED: no Node.js"
  exit 77
fi
if [[ ! -d $modules/playwright-core ]]; then
  echo "SKIPPED: no playwright-core in $modules (make test-web installs it)"
  exit 77
fi
mkdir -p "$work"
NODE_PATH=$modules exec node "$here/report_test.js" "$program" "$browser" "$work"
