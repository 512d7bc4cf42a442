/**
 * A reporter for `node --test` that says what failed: one line of JSON for each test and suite, with the file's path below the
 * working directory.
 */
import path from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** A test or suite that failed. */
export interface FailedTest {
  file: string
  name: string
}

export default async function* failedTests(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:fail') continue
    // A file that ends without a word about its tests fails as a test that has the file's name.
    const { file = event.data.name, name } = event.data
    yield `${JSON.stringify({ file: path.relative('', file), name } satisfies FailedTest)}\n`
  }
}

/** Reads what the reporter wrote. Throws SyntaxError for a line that is not whole. */
export function parseFailedTests(lines: string): FailedTest[] {
  return lines
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as FailedTest)
}
