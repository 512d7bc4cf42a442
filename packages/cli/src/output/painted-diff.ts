import { cells, type Paint } from './paint.ts'

/** The lines of a unified diff in colours, each with its end. Control characters in them do not reach the terminal. */
export function* paintedDiff(lines: readonly string[], paint: Paint): Iterable<string> {
  for (const line of lines) {
    if (line.startsWith('-')) yield cells`${paint.red(line)}\n`
    else if (line.startsWith('+')) yield cells`${paint.green(line)}\n`
    else yield cells`${line}\n`
  }
}
