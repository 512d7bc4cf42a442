/**
 * One candidate of an election, as a process that tests can kill. Arguments: kubeconfig, identity, lease duration,
 * renew deadline and retry period in milliseconds, and by how many its clock is ahead. Prints one JSON line per observation. SIGTERM stops it; when its
 * starter dies, so does it.
 */
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createKubeClient, createManager, loadKubeConfig, silentLogger, systemClock } from '@lateen/kube'

const [path = '', identity = '', ...times] = process.argv.slice(2)
const [leaseDurationMs = 15_000, renewDeadlineMs = 10_000, retryPeriodMs = 2_000, aheadMs = 0] =
  times.map(Number)

const say = (event: string, more: object = {}) => {
  process.stdout.write(`${JSON.stringify({ event, identity, at: Date.now(), ...more })}\n`)
}

process.stdin.resume().once('end', () => process.exit(1))
;(process.stdin as Socket).unref()
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
await using client = await createKubeClient({ config: await loadKubeConfig({ path }) })
const manager = createManager({
  client,
  log: silentLogger,
  clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
  leaderElection: {
    namespace: 'default',
    name: 'candidates',
    identity,
    leaseDurationMs,
    renewDeadlineMs,
    retryPeriodMs,
  },
  http: { host: '127.0.0.1', port: 0 },
})
manager.addTask({
  name: 'lead',
  async run(signal) {
    while (!signal.aborted) {
      say('leading')
      await sleep(20, undefined, { signal }).catch(() => {})
    }
    say('followed')
  },
})
say('started')
try {
  await manager.run(stop.signal)
  say('stopped')
} catch (error) {
  say('failed', { code: (error as { code?: string }).code })
  process.exitCode = 1
}
