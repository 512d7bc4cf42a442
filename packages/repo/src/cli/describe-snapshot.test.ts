import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { objectId } from '../object/object-id.ts'
import type { DirectoryEntry } from '../snapshot/directory.ts'
import { goModeFromUnix } from '../snapshot/go-file-mode.ts'
import { changeLine } from './commands/diff.ts'
import { entryLine, modeText } from './describe-snapshot.ts'
import { splitSnapshotPath } from './snapshot-path.ts'
import { parseTags } from './tags.ts'

const entry: DirectoryEntry = {
  name: 'a\nb',
  type: 'f',
  mode: 0o644,
  size: 12,
  mtime: 1_794_700_800_500_000_000n,
  uid: 1000,
  gid: 100,
  obj: objectId('abcd'),
}

describe('an entry of a snapshot', () => {
  it('is a line whatever its name holds', () => {
    assert.equal(entryLine(entry, 'd/a\nb', { long: false }), 'd/a\\u000ab')
    assert.equal(
      entryLine(entry, 'a', { long: true }),
      '-rw-r--r--    1000:100            12 2026-11-15 00:00:00 UTC a',
    )
  })

  it('shows its mode as ls does', () => {
    const text = (type: DirectoryEntry['type'], unix: number) =>
      modeText({ type, mode: goModeFromUnix(unix) })
    assert.deepEqual(
      [text('f', 0o4755), text('d', 0o1777), text('f', 0o2644), text('s', 0o777), text('f', 0)],
      ['-rwsr-xr-x', 'drwxrwxrwt', '-rw-r-Sr--', 'lrwxrwxrwx', '----------'],
    )
  })

  it('differs in a line', () => {
    const path = { parent: { parent: undefined, name: 'd' }, name: 'x' }
    assert.equal(changeLine({ kind: 'added', path, after: entry, aspects: [] }), '+ d/x')
    assert.equal(
      changeLine({
        kind: 'modified',
        path: undefined,
        after: { ...entry, type: 'd' },
        aspects: ['mode', 'mtime'],
      }),
      'M ./ (mode, mtime)',
    )
  })
})

describe('an argument', () => {
  it('names a snapshot and a path in it', () => {
    assert.deepEqual(splitSnapshotPath('abc'), { id: 'abc', path: '' })
    assert.deepEqual(splitSnapshotPath('abc/etc/hosts'), { id: 'abc', path: 'etc/hosts' })
  })

  it('is a label with a prefix as Kopia has it', () => {
    assert.deepEqual(parseTags(['a=1=2', 'tag:b=']), { 'tag:a': '1=2', 'tag:b': '' })
    assert.throws(() => parseTags(['nonsense']), { code: 'INVALID_ARGUMENT' })
  })
})
