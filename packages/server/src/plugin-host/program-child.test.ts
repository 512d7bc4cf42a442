import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type Logger, silentLogger } from '@lateen/kube'
import { ProgramChild } from './program-child.ts'

/** A folder and a program that is a shell script in it, with the folder as `$FOLDER`. */
async function givenProgram(t: TestContext, script: string, log: Logger = silentLogger) {
  const folder = await mkdtemp(path.join(tmpdir(), 'lateen-child-'))
  const file = path.join(folder, 'program')
  await writeFile(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const env = { PATH: process.env.PATH ?? '', FOLDER: folder }
  const child = await ProgramChild.start({ file, args: [], env, log })
  t.after(async () => {
    child.kill()
    await child.exited
    await rm(folder, { recursive: true, force: true })
  })
  return { folder, child }
}

describe('The process of a program', () => {
  const { signal } = new AbortController()

  it('tells how it ended also when it had closed its output a while before', async t => {
    const { child } = await givenProgram(t, 'exec 1>&-; sleep 1; exit 3')
    await assert.rejects(child.handshake(60_000, signal), /it ended with exit code 3/)
  })

  it('has its lines in the log before anybody acts on the answer that came after them', async t => {
    const warnings: string[] = []
    const log = { ...silentLogger, warn: (_: object, message: string) => void warnings.push(message) }
    const line = '{"@level":"warn","@message":"the last word"}'
    const { folder, child } = await givenProgram(
      t,
      `echo '${line}' >&2; : > "$FOLDER/said"; exec sleep 60`,
      log,
    )
    // As in a host that is busy: nothing is read meanwhile.
    const nothing = new Int32Array(new SharedArrayBuffer(4))
    for (let round = 0; round < 6_000 && !existsSync(path.join(folder, 'said')); round += 1) {
      Atomics.wait(nothing, 0, 0, 10)
    }
    assert.deepEqual(warnings, [])
    await child.heard()
    assert.deepEqual(warnings, ['the last word'])
  })
})
