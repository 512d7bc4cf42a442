import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Backup } from '@lateen/api'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { announceSeed, rotatingSeeds, seededRandom } from '../../tools/test/seeds.ts'
import { type BackupPair, type Side, startPair, veleroMissing } from './backup-pair.ts'
import { setScene } from './backup-scene.ts'
import { meantForVelero, unexplained } from './compared-paths.ts'
import { type FilterCase, randomCase } from './random-backup-spec.ts'

const missing = await veleroMissing()
const given = await givenCluster({ s3: true, own: true })
const skip = missing || given.skip

const casesPerSeed = 8

interface Outcome {
  phase: string | undefined
  validationErrors: readonly string[]
  paths: string[]
}

describe('filters mean to us what they mean to Velero', { skip, concurrency: false }, () => {
  let pair: BackupPair

  before(async () => {
    await setScene(given.cluster)
    pair = await startPair(given.cluster)
  })
  after(() => pair?.[Symbol.asyncDispose]())

  for (const seed of rotatingSeeds({ name: 'backup-filters', count: 2, soakCount: 60 })) {
    it(`in any combination (seed ${seed})`, async test => {
      announceSeed(test, seed)
      const random = seededRandom(seed)
      const cases = Array.from({ length: casesPerSeed }, () => randomCase(random))
      // One after the other: Velero looks at its queue once a minute when a backup in it is not valid.
      for (const [index, { spec, policies }] of cases.entries()) {
        const name = `case-${seed}-${index}`
        const [ours, theirs] = await Promise.all([
          outcome(pair.ours, name, { spec, ...(policies && { policies }) }),
          outcome(pair.theirs, name, { spec: meantForVelero(spec, policies), ...(policies && { policies }) }),
        ])
        const about = `case ${index}: ${JSON.stringify({ spec, policies })}`
        assert.deepEqual(
          [ours.phase, ours.validationErrors],
          [theirs.phase, theirs.validationErrors],
          `${about} ended differently`,
        )
        assert.deepEqual(unexplained(ours.paths, theirs.paths, spec), { onlyOurs: [], onlyTheirs: [] }, about)
      }
    })
  }

  async function outcome(side: Side, name: string, filters: FilterCase): Promise<Outcome> {
    await create(side, name, filters)
    const { status }: Backup = await side.backups.ended(name)
    const stored = status?.phase === 'Completed' || status?.phase === 'PartiallyFailed'
    return {
      phase: status?.phase,
      validationErrors: (status?.validationErrors ?? []).toSorted(),
      paths: stored ? await side.bucket.paths(name) : [],
    }
  }

  async function create({ namespace, backups }: Side, name: string, { spec, policies }: FilterCase) {
    if (policies === undefined) return backups.create(name, spec)
    const data = { policies: JSON.stringify(policies) }
    const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data }
    await given.cluster.kubectl(['create', '-f', '-'], { stdin: JSON.stringify(configMap) })
    return backups.create(name, { ...spec, resourcePolicy: { kind: 'configmap', name } })
  }
})
