import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { announceSeed, rotatingSeeds, seededRandom } from '../../../../../tools/test/seeds.ts'
import { type SafetyParameters, safetyFull } from '../safety.ts'
import type { MaintainerRules } from './maintainers.ts'
import { defaultSettings, type ModelSettings, runModel } from './run-model.ts'
import { hour, minute, type WriterBounds } from './uploads.ts'

const schedulesPerSeed = 250

interface Change {
  safety?: Partial<SafetyParameters>
  writers?: Partial<WriterBounds>
  rules?: Partial<MaintainerRules>
  kopia?: Partial<MaintainerRules>
  twoOfOurs?: boolean
}

/** Maintainers that are forced to run every other time, so that runs overlap much more often than they would. */
const busy: Partial<MaintainerRules> = { forced: 0.5, maxPhase: 20 * minute, maxPause: 2 * hour }

function settings({ safety, writers, rules, kopia, twoOfOurs = false }: Change): ModelSettings {
  const changed = { ...rules, safety: { ...safetyFull, ...safety } }
  return {
    ...defaultSettings,
    twoOfOurs,
    writers: { ...defaultSettings.writers, ...writers },
    ours: { ...defaultSettings.ours, ...changed },
    kopia: { ...defaultSettings.kopia, ...changed, ...kopia },
  }
}

/** The first schedule among so many, from the given seed on, that loses something. */
function findLoss(model: ModelSettings, from: number, schedules: number) {
  for (let seed = from; seed < from + schedules; seed += 1) {
    const result = runModel(seededRandom(seed), model)
    if (result.losses.length > 0) return { seed, loss: result.losses[0], last: result.events.slice(-20) }
  }
  return undefined
}

describe('maintenance beside writers, deleters and another maintainer', () => {
  const safe: [string, ModelSettings][] = [
    ["ours beside Kopia's", settings({})],
    ["ours beside Kopia's, both forced again and again", settings({ rules: busy })],
    [
      'uploads that ask whether contents are live before taking them over from a parent',
      settings({ rules: busy, writers: { reuses: 'while-contents-live', maxSteps: 300 } }),
    ],
    [
      'ours beside ours, with tasks of many hours',
      settings({ twoOfOurs: true, rules: { maxPhase: 14 * hour } }),
    ],
  ]
  for (const [title, model] of safe) {
    for (const seed of rotatingSeeds({ name: 'maintenance-model', count: 2, soakCount: 30 })) {
      it(`${title}: nothing is lost in ${schedulesPerSeed} schedules (seed ${seed})`, t => {
        announceSeed(t, seed)
        assert.equal(findLoss(model, seed, schedulesPerSeed), undefined)
      })
    }
  }

  it('deletes packs and completes snapshots in every schedule it is judged by', () => {
    for (let seed = 0; seed < 50; seed += 1) {
      const result = runModel(seededRandom(seed))
      assert.ok(result.packsDeleted > 10, `seed ${seed} deletes ${result.packsDeleted} packs`)
      assert.ok(result.snapshots > 10, `seed ${seed} completes ${result.snapshots} snapshots`)
    }
  })
})

describe('the model finds what a weaker rule would lose', () => {
  const weaker: [string, Change, string, number?][] = [
    [
      'packs deleted that were referenced when the run began',
      { safety: { keepReferencedAtStart: false } },
      'pack-deleted',
      2_073_655_798,
    ],
    ['packs deleted at any age', { safety: { packDeleteMinAge: 0 }, rules: busy }, 'pack-deleted'],
    [
      'contents dropped after one collection',
      { safety: { requireTwoGcCycles: false }, rules: busy },
      'dropped',
    ],
    [
      'uploads without checkpoints',
      { rules: busy, writers: { checkpointEvery: 1000 * hour, maxSteps: 300 } },
      'dropped',
    ],
    [
      'uploads that flush only at their end',
      { rules: busy, writers: { checkpointEvery: 1000 * hour, flushEvery: 1000 * hour, maxSteps: 600 } },
      'dropped',
    ],
    [
      'uploads that reuse a parent which was deleted meanwhile',
      { rules: busy, writers: { reuses: 'always', maxSteps: 300 } },
      'dropped',
    ],
    ['a Kopia run of many hours beside others', { kopia: { maxPhase: 14 * hour } }, ''],
    [
      'two slow ones of ours that do not look at the schedule again',
      { twoOfOurs: true, rules: { checksLease: false, maxPhase: 14 * hour, forced: 0.5 } },
      '',
    ],
  ]
  for (const [title, change, reason, from = 0] of weaker) {
    it(`${title}`, () => {
      const found = findLoss(settings(change), from, 600)
      assert.ok(found?.loss, 'no schedule among 600 loses anything')
      if (reason !== '') assert.equal(found.loss.reason, reason)
    })
  }
})
