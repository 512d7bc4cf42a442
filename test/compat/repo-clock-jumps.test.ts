/** Clocks that are set while the engine works: the storage's goes on, and safety depends on the difference. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { memoryStorage } from '../../packages/repo/src/blob/memory.ts'
import type { BlobStorage } from '../../packages/repo/src/blob/storage.ts'
import type { Clock } from '../../packages/repo/src/clock/clock.ts'
import { isRepoError } from '../../packages/repo/src/errors/repo-error.ts'
import { createRepository } from '../../packages/repo/src/repository.ts'
import { announceSeed, rotatingSeeds, type SeededRandom, seededRandom } from '../../tools/test/seeds.ts'
import { SimulatedClock, SimulatedRepository } from './simulated-repository.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const jumps = [4 * minute, 20 * minute, 5 * hour, 30 * hour, 400 * day].flatMap(jump => [jump, -jump])
const writingActs = ['upload', 'delete', 'quick', 'full'] as const

/** The clock of a machine beside a storage whose clock is right. */
class MachineClock implements Clock {
  ahead = 0
  readonly #right: Clock
  constructor(right: Clock) {
    this.#right = right
  }
  now(): number {
    return this.#right.now() + this.ahead
  }
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#right.sleep(ms, signal)
  }
}

/** The same storage, which calls `then` once before one of its operations. */
function onOperation(storage: BlobStorage, number: number, act: () => void): BlobStorage {
  let operations = 0
  const count = () => {
    operations += 1
    if (operations === number) act()
  }
  return new Proxy(storage, {
    get: (target, name: keyof BlobStorage) => {
      const value = target[name]
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        count()
        return Reflect.apply(value, target, args)
      }
    },
  })
}

/** One act during which the clock is set; whether it went on to its end. */
async function actDuringJump(
  world: SimulatedRepository,
  jump: number,
  random: SeededRandom,
): Promise<string> {
  const clock = new MachineClock(world.clock)
  const act = random.pick(writingActs)
  const storage = onOperation(world.storage, random.integer(1, random.pick([30, 100, 300])), () => {
    clock.ahead = jump
  })
  const result = await world.actThrough(storage, act, clock).then(
    () => 'done',
    error => {
      assert.ok(isRepoError(error, 'CLOCK_SKEW'), String(error))
      assert.match(`${error.message} ${error.hint}`, /clock.*differ.*minutes.*clocks/s)
      assert.ok(Math.abs(jump) > 5 * minute, `a jump of ${jump / minute} minutes is no reason to fail`)
      return 'refused'
    },
  )
  return `${act}, ${Math.round(jump / minute)} minutes: ${result}`
}

describe('a clock that is set while the engine works', () => {
  for (const seed of rotatingSeeds({ name: 'clock-jumps', count: 1, soakCount: 200 })) {
    it(`ends what it endangers with one error, and nothing is lost (seed ${seed})`, async t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const world = await SimulatedRepository.ofSomeWeeks(t, random)
      for (const jump of random.shuffle(jumps).slice(0, 6)) {
        t.diagnostic(await actDuringJump(world, jump, random))
        const repository = await world.assertNothingLost()
        await world.act('upload', repository)
        world.clock.time += random.pick([hour / 2, 5 * hour, 25 * hour])
        await world.act('full', repository)
      }
      await world.assertNothingLost()
    })
  }

  it('is noticed by the next write of an upload, forwards and backwards, and not when it is minutes', async () => {
    for (const jump of [-3 * minute, 3 * minute, -hour, hour]) {
      const right = new SimulatedClock(Date.UTC(2026, 0, 1))
      const clock = new MachineClock(right)
      const storage = memoryStorage({ clock: right })
      await using repository = await createRepository({ storage, password: 'p', clock })
      const writing = repository.writing({}, async ({ contents }) => {
        await contents.write(Buffer.from('before'))
        clock.ahead = jump
        await contents.write(Buffer.from('after'))
      })
      if (Math.abs(jump) > 5 * minute) await assert.rejects(writing, { code: 'CLOCK_SKEW' })
      else await writing
    }
  })

  it('has no say over a storage: every change is refused while it is an hour off, and reading is not', async t => {
    const world = await SimulatedRepository.ofSomeWeeks(t, seededRandom(1))
    for (const ahead of [-hour, hour]) {
      const clock = new MachineClock(world.clock)
      clock.ahead = ahead
      const before = new Set(world.storage.blobs.keys())
      for (const act of writingActs) {
        await assert.rejects(world.actThrough(world.storage, act, clock), { code: 'CLOCK_SKEW' })
      }
      assert.deepEqual(new Set(world.storage.blobs.keys()), before)
      const { findings } = await world.actThrough(world.storage, 'verify', clock)
      assert.deepEqual(findings, [])
      await world.actThrough(world.storage, 'restore', clock)
    }
  })
})
