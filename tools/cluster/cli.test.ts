import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it } from 'node:test'
import { portsOf } from './cluster-layout.ts'
import { writeState } from './cluster-state.ts'
import { identify } from './process-identity.ts'

describe('npm run cluster -- status', () => {
  it('lists all clusters although one does not answer yet', async () => {
    const clusters = await mkdtemp(path.join(tmpdir(), 'lateen-status-'))
    try {
      // This process stands for supervisors that have been noted, but do not listen.
      const supervisor = await identify(process.pid)
      assert.ok(supervisor)
      for (const [name, index] of [['first', 1] as const, ['second', 2] as const]) {
        const folder = path.join(clusters, name)
        await mkdir(folder)
        await writeState({ name, folder, node: false, s3: false, index, ports: portsOf(index), supervisor })
      }
      const env = { ...process.env, LATEEN_CLUSTERS: clusters }
      const cli = path.join(import.meta.dirname, 'cli.ts')
      const { status, stdout, stderr } = spawnSync(process.execPath, [cli, 'status'], { env })
      assert.equal(stderr.toString(), '')
      assert.equal(status, 0)
      const line = '  starts or stops just now\n'
      assert.equal(
        stdout.toString(),
        `first: https://127.0.0.1:20012\n${line}second: https://127.0.0.1:20022\n${line}`,
      )
    } finally {
      await rm(clusters, { recursive: true })
    }
  })
})
