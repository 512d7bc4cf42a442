import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { childPath, type EntryPath, formatEntryPath, nameProblem, siftEntries } from './entry-name.ts'

describe('names of restored entries', () => {
  for (const name of ['', '.', '..', '/', '/etc/passwd', 'a/b', '../a', 'a\0b', '\0']) {
    it(`${JSON.stringify(name)} is refused`, () => assert.notEqual(nameProblem(name), undefined))
  }

  for (const name of ['a', '...', '.hidden', '..a', 'a\\b', 'C:', ' ', '\n', '\u{1f600}', '\ufffd', '-rf']) {
    it(`${JSON.stringify(name)} is accepted`, () => assert.equal(nameProblem(name), undefined))
  }

  it('keeps the first of several entries with one name, also when they differ only in bytes that UTF-8 lacks', () => {
    const entries = ['a', 'b', 'a', 'x\udc80', 'x\udc81', 'x\ufffd', '..'].map((name, at) => ({ name, at }))
    const { good, bad } = siftEntries(entries)
    assert.deepEqual(
      good.map(({ at }) => at),
      [0, 1, 3],
    )
    assert.deepEqual(
      bad.map(({ entry }) => entry.at),
      [2, 4, 5, 6],
    )
  })

  it('prints a path of 100,000 names', () => {
    let path: EntryPath | undefined
    for (let depth = 0; depth < 100_000; depth++) path = childPath(path, 'd')
    assert.equal(formatEntryPath(path).length, 199_999)
    assert.equal(formatEntryPath(undefined), '')
  })
})
