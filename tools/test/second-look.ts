/**
 * What becomes of a whole run in which tests failed. A test that waits for foreign programs on a busy machine can fail without
 * a defect in what it tests; its file is then run once more, alone and with the same seeds. docs/adr/0009 says why,
 * and what is never forgiven.
 */
import type { FailedTest } from './failed-tests.ts'

/** More files than these failing in one run is no bad luck. */
const fileLimit = 2

const lookedAtTwice = ['test/cluster/', 'test/compat/']

export type SecondLook = { files: string[] } | { refused: string }

/** Which files to run again, or why the run has failed for good. */
export function decideSecondLook(failed: FailedTest[]): SecondLook {
  const files = [...new Set(failed.map(({ file }) => file))]
  if (files.length === 0) return { refused: 'the run broke off without naming a failed test' }
  const strict = files.filter(file => !lookedAtTwice.some(folder => file.startsWith(folder)))
  if (strict.length > 0) return { refused: `nothing outside may disturb ${strict.join(', ')}` }
  if (files.length > fileLimit) return { refused: `${files.length} files failed` }
  return { files }
}

/** What a reader of the run's output has to know before the second run and, if that passes, after it. */
export function tellFailures(failed: FailedTest[], files: string[]): string {
  return files.map(file => `  ${file}\n${namesIn(failed, file).join('')}`).join('')
}

function namesIn(failed: FailedTest[], file: string): string[] {
  const names = failed.filter(test => test.file === file).map(({ name }) => name)
  return [...new Set(names)].map(name => `    ✖ ${name}\n`)
}
