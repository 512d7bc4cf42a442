import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { type Lateen, lateenFor } from './cli-runner.ts'
import { backTo, outcomes, settledObjects } from './install-scene.ts'

const launcher = path.resolve(import.meta.dirname, '../../packages/cli/bin/lateen.js')
const given = await givenCluster({ own: true })
const lateen: Lateen = given.skip
  ? () => Promise.reject(new Error(given.skip || ''))
  : await lateenFor(given.cluster.kubeconfigPath)

const install = [
  'install',
  '--provider=aws',
  '--bucket=b',
  '--no-secret',
  '--use-node-agent',
  '--rights=backup,restore',
]

describe('an interrupted lateen', { skip: given.skip, concurrency: false }, async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'lateen-cli-'))
  after(() => rm(home, { recursive: true }))

  /** Runs a command and kills it a moment after a line of its output, anywhere between the first and its end. */
  async function killSomewhere(args: readonly string[], random: SeededRandom): Promise<void> {
    const lines = random.integer(0, 30)
    const child = spawn(process.execPath, [launcher, ...args], {
      env: { PATH: process.env.PATH ?? '', HOME: home, KUBECONFIG: given.cluster.kubeconfigPath },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    })
    const ended = once(child, 'exit')
    let seen = 0
    if (lines > 0) {
      for await (const _ of createInterface({ input: child.stdout })) {
        seen += 1
        if (seen >= lines) break
      }
    }
    await sleep(random.integer(0, 60))
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL')
    } catch {
      // It was faster.
    }
    await ended
  }

  for (const seed of rotatingSeeds({ name: 'killed-install', count: 2, soakCount: 40 })) {
    it(`is finished by the same command, and leaves nothing in the end (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const clean = await settledObjects(given.cluster)
      await killSomewhere(install, random)
      const installed = await lateen(install)
      assert.equal(installed.status, 0, installed.stderr)
      const again = outcomes((await lateen(install)).stdout)
      const printed = JSON.parse((await lateen([...install, '--dry-run', '-ojson'])).stdout)
      assert.equal(again.size, printed.items.length)
      assert.deepEqual(new Set(again.values()), new Set(['unchanged']))

      await killSomewhere(['uninstall', '--force'], random)
      const uninstalled = await lateen(['uninstall', '--force'])
      assert.equal(uninstalled.status, 0, uninstalled.stderr)
      await backTo(clean, given.cluster)
    })
  }
})
