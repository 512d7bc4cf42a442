import type { FlagSet } from './flag.ts'

const help = "Accepted as one of velero's flags, without effect: this program has no log of its own."

/** Flags of the library that Velero's client logs with, so that command lines that hold them still work. */
export const klogFlags = {
  add_dir_header: { type: 'boolean', hidden: true, help },
  alsologtostderr: { type: 'boolean', hidden: true, help },
  alsologtostderrthreshold: { type: 'string', hidden: true, help },
  legacy_stderr_threshold_behavior: { type: 'boolean', default: 'true', hidden: true, help },
  log_backtrace_at: { type: 'string', default: ':0', hidden: true, help },
  log_dir: { type: 'string', hidden: true, help },
  log_file: { type: 'string', hidden: true, help },
  log_file_max_size: { type: 'integer', default: '1800', hidden: true, help },
  logtostderr: { type: 'boolean', default: 'true', hidden: true, help },
  one_output: { type: 'boolean', hidden: true, help },
  skip_headers: { type: 'boolean', hidden: true, help },
  skip_log_headers: { type: 'boolean', hidden: true, help },
  stderrthreshold: { type: 'string', default: '2', hidden: true, help },
  v: { type: 'integer', short: 'v', hidden: true, help },
  vmodule: { type: 'string', hidden: true, help },
} as const satisfies FlagSet
