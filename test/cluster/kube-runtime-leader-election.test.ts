import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { after, afterEach, before, describe, it } from 'node:test'
import { createKubeClient, isNotFound, type KubeClient, LeaseKind, loadKubeConfig } from '@lateen/kube'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { waitUntil } from '../../tools/cluster/wait-until.ts'

const given = await givenCluster({ own: true })

interface Observation {
  event: 'started' | 'leading' | 'followed' | 'stopped' | 'failed'
  identity: string
  at: number
  code?: string
}

/** Lease duration, renew deadline and retry period in milliseconds, and by how many the clock is ahead. */
type Times = readonly [number, number, number, number?]
/** Long enough for a machine on which a renewal takes some seconds, short enough for a test. */
const quick = [10_000, 8_000, 300] as const satisfies Times
const longerThanLeaseMs = 11_000
/** Nobody outlives this lease: only a released one can be taken. */
const anHour: Times = [3_600_000, 30_000, 300]

/** A candidate in a process of its own, and everything it said. */
class Candidate {
  readonly said: Observation[] = []
  readonly identity: string
  readonly #process
  readonly #exited

  constructor(identity: string, times: Times) {
    this.identity = identity
    const script = path.join(import.meta.dirname, 'kube-runtime-candidate.ts')
    const args = [script, given.cluster.kubeconfigPath, identity, ...times.map(String)]
    this.#process = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    this.#exited = once(this.#process, 'close')
    createInterface({ input: this.#process.stdout }).on('line', line => this.said.push(JSON.parse(line)))
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.signal(signal)
    await this.exited()
  }

  async exited(): Promise<void> {
    await this.#exited
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  last(event: Observation['event']): Observation | undefined {
    return this.said.findLast(each => each.event === event)
  }
}

describe('leader election', { skip: given.skip, timeout: 900_000 }, () => {
  let client: KubeClient
  let candidates: Candidate[] = []

  before(async () => {
    client = await createKubeClient({ config: await loadKubeConfig({ path: given.cluster.kubeconfigPath }) })
  })
  after(() => client[Symbol.asyncDispose]())
  afterEach(async () => {
    await Promise.all(candidates.map(candidate => candidate.end('SIGKILL')))
    candidates = []
    await leases()
      .delete('candidates')
      .catch(error => assert.ok(isNotFound(error)))
  })

  const leases = () => client.resource(LeaseKind, 'default')

  function start(identity: string, times: Times): Candidate {
    const candidate = new Candidate(identity, times)
    candidates.push(candidate)
    return candidate
  }

  /** Who has led most recently, among those that still run and have led since `since`. */
  function leaderSince(since: number): Promise<Candidate> {
    return waitUntil(async () => candidates.find(each => (each.last('leading')?.at ?? 0) > since), {
      timeoutMs: 90_000,
      failure: () =>
        new Error(`nobody led; said: ${JSON.stringify(candidates.map(each => each.said.at(-1)))}`),
    })
  }

  it('lets exactly one lead at a time while leaders are killed', async () => {
    for (const identity of ['a', 'b', 'c']) start(identity, quick)
    const led: string[] = []
    for (let round = 0; round < 3; round++) {
      const leader = await leaderSince(Date.now())
      led.push(leader.identity)
      await new Promise(resolve => setTimeout(resolve, 1_000))
      await leader.end('SIGKILL')
    }
    assert.deepEqual(new Set(led), new Set(['a', 'b', 'c']))
    const turns = turnsOf(candidates.flatMap(candidate => candidate.said))
    assert.deepEqual(turns, led)
    const lease = await leases().get('candidates')
    assert.equal(lease.spec?.leaseTransitions, 2)
  })

  it('releases the lease on a graceful stop, so that another leads without waiting for it to expire', async () => {
    const first = start('first', anHour)
    await leaderSince(0)
    const second = start('second', anHour)
    await waitUntil(async () => second.last('started'), {
      timeoutMs: 90_000,
      failure: () => new Error('no start'),
    })
    await first.end('SIGTERM')
    assert.ok(first.last('stopped'), 'the first ended without an error')
    await leaderSince(first.last('stopped')?.at ?? 0)
    assert.ok(second.last('leading'))
    await second.end('SIGTERM')
    const lease = await leases().get('candidates')
    assert.equal(lease.spec?.holderIdentity, undefined)
    assert.deepEqual(turnsOf([...first.said, ...second.said]), ['first', 'second'])
  })

  it('leaves the lease of a killed leader alone until it expires', async () => {
    const first = start('first', anHour)
    await leaderSince(0)
    await first.end('SIGKILL')
    const second = start('second', anHour)
    await waitUntil(async () => second.last('started'), {
      timeoutMs: 90_000,
      failure: () => new Error('no start'),
    })
    await new Promise(resolve => setTimeout(resolve, 2_000))
    assert.equal(second.last('leading'), undefined)
    assert.equal((await leases().get('candidates')).spec?.holderIdentity, 'first')
  })

  it('ends a leader that was frozen while another took over', async () => {
    const first = start('first', quick)
    await leaderSince(0)
    const second = start('second', quick)
    first.signal('SIGSTOP')
    await leaderSince(Date.now() + 1)
    await waitUntil(async () => second.last('leading'), {
      timeoutMs: 90_000,
      failure: () => new Error('no leader'),
    })
    first.signal('SIGCONT')
    await first.exited()
    assert.equal(first.last('failed')?.code, 'LEADERSHIP_LOST')
    assert.equal((await leases().get('candidates')).spec?.holderIdentity, 'second')
  })

  it('lets one lead after the other though their clocks are an hour apart', async () => {
    const hour = 3_600_000
    const ahead = start('ahead', [...quick, hour])
    await leaderSince(0)
    const behind = start('behind', [...quick, -hour])
    await waitUntil(async () => behind.last('started'), {
      timeoutMs: 90_000,
      failure: () => new Error('no start'),
    })
    await new Promise(resolve => setTimeout(resolve, longerThanLeaseMs))
    assert.equal(behind.last('leading'), undefined, 'the lease of the one ahead is respected')
    await ahead.end('SIGKILL')
    await leaderSince(Date.now())
    const late = start('ahead again', [...quick, hour])
    await waitUntil(async () => late.last('started'), {
      timeoutMs: 90_000,
      failure: () => new Error('no start'),
    })
    await new Promise(resolve => setTimeout(resolve, longerThanLeaseMs))
    assert.equal(late.last('leading'), undefined, 'the lease of the one behind does not look old')
    assert.deepEqual(turnsOf([...ahead.said, ...behind.said, ...late.said]), ['ahead', 'behind'])
  })

  it('ends a leader that cannot renew because the API server is gone', async () => {
    const first = start('first', quick)
    await leaderSince(0)
    await given.cluster.kill('kube-apiserver')
    try {
      await first.exited()
      assert.equal(first.last('failed')?.code, 'LEADERSHIP_LOST')
      assert.ok((first.last('followed')?.at ?? 0) >= (first.last('leading')?.at ?? 0))
    } finally {
      await given.cluster.start('kube-apiserver')
    }
    const second = start('second', quick)
    await leaderSince(first.last('failed')?.at ?? 0)
    assert.ok(second.last('leading'))
  })

  it('goes on leading when the lease is deleted under it', async () => {
    const first = start('first', quick)
    await leaderSince(0)
    await leases().delete('candidates')
    await waitUntil(
      async () =>
        leases()
          .get('candidates')
          .catch(() => undefined),
      { timeoutMs: 90_000, failure: () => new Error('no new lease') },
    )
    await leaderSince(Date.now())
    assert.equal(first.last('failed'), undefined)
  })
})

/** The order in which candidates led. One that leads, is followed by another, and leads again appears twice. */
function turnsOf(observations: readonly Observation[]): string[] {
  const beats = observations.filter(({ event }) => event === 'leading').sort((a, b) => a.at - b.at)
  return beats.map(({ identity }) => identity).filter((identity, i, all) => identity !== all[i - 1])
}
