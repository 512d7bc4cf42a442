import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { progressBar, progressDisplay, progressText } from './progress.ts'

function display(terminal: boolean) {
  const written: string[] = []
  const time = { now: 0 }
  const shown = progressDisplay({
    write: text => written.push(text),
    now: () => time.now,
    terminal,
    columns: 30,
  })
  return { written, time, shown }
}

describe('progress', () => {
  it('is drawn over itself on a terminal and removed in the end', () => {
    const { written, time, shown } = display(true)
    shown.update({ what: 'read', bytes: 1 })
    shown.update({ what: 'read', bytes: 2 })
    time.now = 150
    shown.update({ what: 'read', bytes: 3, totalBytes: 4 })
    shown.end()
    assert.equal(written.length, 3)
    assert.ok(written.every(text => text.startsWith('\r\x1b[K')))
    assert.ok((written[1] ?? '').length <= '\r\x1b[K'.length + 29)
    assert.equal(written[2], '\r\x1b[K')
  })

  it('is a line now and then elsewhere', () => {
    const { written, time, shown } = display(false)
    for (time.now = 0; time.now <= 65_000; time.now += 1000) shown.update({ what: 'read', bytes: 5 })
    shown.end()
    assert.equal(written.length, 2)
    assert.ok(written.every(text => /^read 5 B.*\n$/.test(text)))
  })

  it('says how much of what, how fast and how long still', () => {
    const progress = { what: 'read', bytes: 2 ** 20, totalBytes: 3 * 2 ** 20, files: 7, cachedFiles: 2 }
    assert.equal(
      progressText(progress, 1000),
      'read 1.0 MiB of 3.0 MiB, 7 files, 2 unchanged, 1.0 MiB/s, 2 s left',
    )
  })

  it('has a bar as long as it should be, or none without a total', () => {
    assert.equal(progressBar({ bytes: 1, totalBytes: 2 }), '[##########..........] ')
    assert.equal(progressBar({ bytes: 9, totalBytes: 2 }), '[####################] ')
    assert.equal(progressBar({ bytes: 9 }), '')
  })
})
