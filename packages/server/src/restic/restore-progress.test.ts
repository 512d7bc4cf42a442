import assert from 'node:assert/strict'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { RestoreProgress, type VolumeProgress } from './restore-progress.ts'

/** A clock whose sleeps end when they are told to. */
function steppedClock() {
  let wake = () => {}
  const sleep = (_: number, signal?: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      wake = resolve
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
  return { clock: { now: () => 0, sleep }, step: () => wake() }
}

describe('the progress of a restore by restic', () => {
  it('is what lies in the volume while restic says nothing, and what restic says once it does', async () => {
    await using folder = await mkdtempDisposable(path.join(os.tmpdir(), 'lateen-restore-progress-'))
    const { clock, step } = steppedClock()
    const told: VolumeProgress[] = []
    let heardOne = () => {}
    const onProgress = (progress: VolumeProgress) => {
      told.push(progress)
      heardOne()
    }
    const next = () =>
      new Promise<void>(resolve => {
        heardOne = resolve
        step()
      })
    {
      await using progress = new RestoreProgress(folder.path, { clock, onProgress })
      progress.heard({ bytesDone: 0, totalBytes: 100 })
      await writeFile(path.join(folder.path, 'file'), 'x'.repeat(40))
      await next()
      await writeFile(path.join(folder.path, 'not-of-the-snapshot'), 'x'.repeat(400))
      await next()
      progress.heard({ bytesDone: 70, totalBytes: 100 })
      step()
    }
    assert.deepEqual(
      told.map(({ bytesDone }) => bytesDone),
      [0, 40, 100, 70],
    )
    assert.ok(told.every(({ totalBytes }) => totalBytes === 100))
  })
})
