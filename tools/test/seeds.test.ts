import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { describe, it } from 'node:test'
import { announceSeed, rotatingSeeds, seededRandom } from './seeds.ts'

const plan = { name: 'a plan', count: 3, soakCount: 40 }

function drawing(...values: number[]): () => number {
  return () => values.shift() ?? 0
}

describe('rotatingSeeds', () => {
  it('draws a few different seeds in an ordinary run', () => {
    assert.deepEqual(rotatingSeeds(plan, { env: {}, randomInt: drawing(5, 5, 9, 1) }), [5, 9, 1])
  })

  it('draws other seeds the next time', () => {
    const source = { env: {}, randomInt }
    assert.notDeepEqual(rotatingSeeds(plan, source), rotatingSeeds(plan, source))
  })

  it('counts up from a random seed when the plan says so', () => {
    const consecutive = { ...plan, consecutive: true }
    assert.deepEqual(rotatingSeeds(consecutive, { env: {}, randomInt: drawing(5) }), [5, 6, 7])
  })

  it('draws the same seeds in a second look at a run, others for another plan or run', () => {
    const drawn = (name: string, run: string) =>
      rotatingSeeds({ ...plan, name }, { env: { LATEEN_RUN_SEED: run }, randomInt: drawing() })
    assert.deepEqual(drawn('a plan', '7'), drawn('a plan', '7'))
    assert.notDeepEqual(drawn('a plan', '7'), drawn('another', '7'))
    assert.notDeepEqual(drawn('a plan', '7'), drawn('a plan', '8'))
    assert.equal(new Set(drawn('a plan', '7')).size, 3)
  })

  it('runs exactly the seeds of LATEEN_SEED, soaking or not', () => {
    const env = { LATEEN_SEED: '7,0', LATEEN_SOAK: '1' }
    assert.deepEqual(rotatingSeeds(plan, { env, randomInt: drawing() }), [7, 0])
  })

  it('counts up from a first seed when soaking', () => {
    const env = { LATEEN_SOAK: '1', LATEEN_SOAK_SEEDS: '3', LATEEN_SOAK_FROM: '100' }
    assert.deepEqual(rotatingSeeds(plan, { env, randomInt: drawing() }), [100, 101, 102])
    assert.equal(rotatingSeeds(plan, { env: { LATEEN_SOAK: '1' }, randomInt: drawing(1) }).length, 40)
  })

  it('refuses a variable that holds no seed instead of running none', () => {
    assert.throws(
      () => rotatingSeeds(plan, { env: { LATEEN_SEED: 'x' }, randomInt: drawing() }),
      /LATEEN_SEED holds "x"/,
    )
  })
})

describe('seededRandom', () => {
  it('gives the same values for the same seed, and others for another', () => {
    const values = (seed: number) => {
      const random = seededRandom(seed)
      return Array.from({ length: 20 }, () => random.next())
    }
    assert.deepEqual(values(1), values(1))
    assert.notDeepEqual(values(1), values(2))
  })

  it('keeps whole numbers within their bounds and reaches both ends', () => {
    const random = seededRandom(3)
    const drawn = new Set(Array.from({ length: 500 }, () => random.integer(-2, 2)))
    assert.deepEqual(
      [...drawn].sort((a, b) => a - b),
      [-2, -1, 0, 1],
    )
  })

  for (const seed of rotatingSeeds({ name: 'seeded-random', count: 2 })) {
    it(`spreads its values and loses none in a shuffle (seed ${seed})`, t => {
      announceSeed(t, seed)
      const random = seededRandom(seed)
      const values = Array.from({ length: 10_000 }, () => random.next())
      const mean = values.reduce((a, b) => a + b) / values.length
      assert.ok(Math.abs(mean - 0.5) < 0.02, `mean ${mean}`)
      assert.equal(new Set(random.bytes(8192)).size, 256)
      const order = Array.from({ length: 50 }, (_, i) => i)
      const shuffled = random.shuffle(order)
      assert.notDeepEqual(shuffled, order)
      assert.deepEqual(
        shuffled.toSorted((a, b) => a - b),
        order,
      )
    })
  }

  it('refuses to pick from nothing', () => {
    assert.throws(() => seededRandom(1).pick([]), RangeError)
  })
})
