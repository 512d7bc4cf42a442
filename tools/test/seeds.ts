/**
 * Seeds for tests that kill, race or shuffle. `npm test` runs a few of them, other ones each time; `npm run soak` runs
 * many; a failure is run again with the seed its title names. In a test file:
 *
 *     for (const seed of rotatingSeeds({ name: 'killed-writer', count: 3 })) {
 *       it(`a killed writer loses nothing it promised (seed ${seed})`, t => {
 *         announceSeed(t, seed)
 *         const random = seededRandom(seed)
 *         ...
 *       })
 *     }
 *
 * Keep the seed in the title: the title is what a report shows. Add the file to `tools/soak/plan.ts`.
 *
 * | variable | meaning |
 * |---|---|
 * | `LATEEN_SEED=7` or `LATEEN_SEED=7,8` | exactly these seeds |
 * | `LATEEN_RUN_SEED=9` | those that this number draws, for each plan its own; the runner sets it |
 * | `LATEEN_SOAK=1` | many seeds: `soakCount`, default 100 |
 * | `LATEEN_SOAK_SEEDS=500` | that many instead, when soaking |
 * | `LATEEN_SOAK_FROM=1000` | the first of them; random when absent |
 */
import { createHash, randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import { seededRandom } from './seeded-random.ts'

export { type SeededRandom, seededRandom } from './seeded-random.ts'

export interface SeedPlan {
  /** What is seeded, for messages. */
  name: string
  /** Seeds in an ordinary run. */
  count: number
  /** Seeds in a soak run that names no number. */
  soakCount?: number
  /** One after the other in an ordinary run too, so that what goes by the remainder of a seed gets equal shares. */
  consecutive?: boolean
}

/** Where seeds come from; the process environment and real randomness unless a test says otherwise. */
export interface SeedSource {
  env: Record<string, string | undefined>
  randomInt(below: number): number
}

const seedSpace = 2 ** 31

/** The seeds to run now, all different. Throws RangeError when a variable holds no seed. */
export function rotatingSeeds(
  plan: SeedPlan,
  source: SeedSource = { env: process.env, randomInt },
): number[] {
  const {
    LATEEN_SEED: exactly,
    LATEEN_SOAK: soak,
    LATEEN_SOAK_SEEDS: many,
    LATEEN_SOAK_FROM: first,
  } = source.env
  if (exactly) return exactly.split(',').map(seed => wholeNumber(plan, 'LATEEN_SEED', seed))
  const soaking = soak === '1'
  const draw = drawing(plan, source)
  if (!soaking && !plan.consecutive) return distinct(plan.count, draw)
  const count = soaking ? soakCount(plan, many) : plan.count
  const from = soaking && first !== undefined ? wholeNumber(plan, 'LATEEN_SOAK_FROM', first) : draw()
  return Array.from({ length: count }, (_, index) => (from + index) % seedSpace)
}

/** Prints, beside the test's result, how to run it again with the same seed. */
export function announceSeed(test: Pick<TestContext, 'diagnostic' | 'name'>, seed: number): void {
  test.diagnostic(`again with LATEEN_SEED=${seed}: ${test.name}`)
}

function drawing(plan: SeedPlan, { env, randomInt }: SeedSource): () => number {
  const { LATEEN_RUN_SEED: runSeed } = env
  if (runSeed === undefined) return () => randomInt(seedSpace)
  const run = wholeNumber(plan, 'LATEEN_RUN_SEED', runSeed)
  const random = seededRandom(createHash('sha256').update(`${run} ${plan.name}`).digest().readUInt32BE())
  return () => random.integer(0, seedSpace)
}

function soakCount(plan: SeedPlan, many: string | undefined): number {
  return many === undefined ? (plan.soakCount ?? 100) : wholeNumber(plan, 'LATEEN_SOAK_SEEDS', many)
}

function distinct(count: number, draw: () => number): number[] {
  const seeds = new Set<number>()
  while (seeds.size < count) seeds.add(draw())
  return [...seeds]
}

function wholeNumber(plan: SeedPlan, variable: string, text: string): number {
  if (/^\d{1,10}$/.test(text)) return Number(text)
  throw new RangeError(`seeds of ${plan.name}: ${variable} holds "${text}", which is no whole number`)
}
