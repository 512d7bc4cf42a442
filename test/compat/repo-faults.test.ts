/** Storages that fail at any instant: what the engine was doing is retried or reported, and nothing is lost. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import { type FaultRates, faultyStorage } from '../../packages/repo/src/blob/testing/faulty.ts'
import { retrying } from '../../packages/repo/src/blob/wrap/retrying.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import type { Repository } from '../../packages/repo/src/repository.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { kopiaSkip } from './kopia.ts'
import { type Act, acts, type Outcome, SimulatedRepository } from './simulated-repository.ts'

const hour = 3_600_000
const noKopia = await kopiaSkip()

interface Weather {
  rates: Partial<FaultRates>
  /** True when nobody but a liar behaves so: retrying does not help, and findings may be reported. */
  lies: boolean
}

/** Rates so low that ten tries in a row do not fail. */
const weathers: Record<string, Weather> = {
  failing: { rates: { failing: 0.1, cutOff: 0.05, lostAnswer: 0.05 }, lies: false },
  throttling: { rates: { throttling: 0.2 }, lies: false },
  'timing out': { rates: { timingOut: 0.15 }, lies: false },
  'giving half bodies': { rates: { halfBody: 0.05 }, lies: true },
  'listing stale names': { rates: { staleList: 0.6 }, lies: true },
  'doing all of that': {
    rates: {
      ...{ failing: 0.03, throttling: 0.03, timingOut: 0.03, cutOff: 0.03 },
      ...{ lostAnswer: 0.03, halfBody: 0.03, staleList: 0.2 },
    },
    lies: true,
  },
}

const liesAreReportedAs = new Set([
  'CORRUPT',
  'INVALID_RANGE',
  'LOCKED',
  'NOT_A_REPOSITORY',
  'BLOB_NOT_FOUND',
  'CONTENT_NOT_FOUND',
])

/** For acts that end with the first fault, so that they get to all their parts. */
function rarer(rates: Partial<FaultRates>): Partial<FaultRates> {
  return Object.fromEntries(Object.entries(rates).map(([kind, rate]) => [kind, rate / 8]))
}

/** A storage in bad weather, from its first operation or from a later one on, for ever or for a while. */
function inWeather(
  world: SimulatedRepository,
  rates: Partial<FaultRates>,
  random: SeededRandom,
): BlobStorage {
  const from = random.pick([0, random.integer(0, 60), random.integer(0, 400)])
  const to = from + random.pick([Number.POSITIVE_INFINITY, random.integer(1, 60)])
  let operations = 0
  return faultyStorage(world.storage, {
    seed: random.seed,
    rates,
    clock: world.clock,
    timeoutMs: 30_000,
    staleForMs: hour / 4,
    affects: () => {
      operations += 1
      return operations > from && operations <= to
    },
  })
}

/** What came of an act: its outcome, or the error it was reported with, which says what is wrong. */
async function outcomeOf(acting: Promise<Outcome>, weather: Weather): Promise<Outcome | Error> {
  try {
    return await acting
  } catch (error) {
    assert.ok(isRepoError(error), `not an error of ours: ${String(error)}`)
    assert.match(error.message, /^\S.{10,}$/)
    if (error.code !== 'STORAGE_FAILED' || !error.retryable)
      assert.ok(weather.lies && liesAreReportedAs.has(error.code), `${error.code}: ${error.message}`)
    return error
  }
}

/** One act in bad weather, then the check that nothing is lost, and an upload when the sky is clear again. */
async function survive(world: SimulatedRepository, act: Act, random: SeededRandom): Promise<string> {
  const name = random.pick(Object.keys(weathers))
  const weather = weathers[name] as Weather
  const retries = random.chance(0.5)
  const faulty = inWeather(world, retries ? weather.rates : rarer(weather.rates), random)
  const storage = retries ? retrying(faulty, { clock: world.clock, random: () => random.next() }) : faulty
  const outcome = await outcomeOf(world.actThrough(storage, act), weather)
  const story = `${act} on a storage ${name}${retries ? ', retried' : ''}: ${outcome instanceof Error ? outcome.message : 'done'}`
  if (retries && !weather.lies) assert.ok(!(outcome instanceof Error), story)
  if (!(outcome instanceof Error) && !weather.lies) assert.deepEqual(outcome.findings, [], story)
  const repository = await world.assertNothingLost().catch(cause => {
    throw new Error(story, { cause })
  })
  await world.act('upload', repository)
  world.clock.time += random.pick([hour / 2, 5 * hour, 25 * hour])
  return story
}

/** Runs by the clock until what deleted snapshots used is gone, which takes two collections and days. */
async function maintainForDays(world: SimulatedRepository, repository: Repository): Promise<void> {
  for (let day = 0; day < 5; day += 1) {
    world.clock.time += 25 * hour
    await world.act('full', repository)
  }
}

describe('a storage that fails at any instant', () => {
  for (const [position, seed] of rotatingSeeds({
    name: 'storage-faults',
    count: 3,
    soakCount: 300,
  }).entries()) {
    it(`loses nothing, and everything goes on afterwards (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const world = await SimulatedRepository.ofSomeWeeks(t, random)
      for (const act of random.shuffle(acts)) t.diagnostic(await survive(world, act, random))
      const packs = packsOf(world)
      await maintainForDays(world, await world.assertNothingLost())
      assert.ok(packsOf(world) < packs, 'maintenance frees nothing any more')
      await world.assertNothingLost()
      if (position % 5 === 0 && !noKopia) await world.assertKopiaVerifies(t)
    })
  }
})

function packsOf({ storage }: SimulatedRepository): number {
  return [...storage.blobs.keys()].filter(id => /^[pq]/.test(id)).length
}
