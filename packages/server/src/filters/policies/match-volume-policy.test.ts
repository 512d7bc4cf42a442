import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { matchVolumePolicy } from './match-volume-policy.ts'
import { parsePolicies } from './parse-policies.ts'
import { type VolumeObjects, volumeFactsOf } from './volume-facts.ts'

const disk: VolumeObjects = {
  persistentVolume: {
    spec: {
      capacity: { storage: '50Gi' },
      storageClassName: 'gp2',
      csi: { driver: 'ebs.csi.aws.com', volumeAttributes: { tier: 'fast', zone: 'a' } },
    },
  },
  claim: {
    metadata: { labels: { app: 'web', env: 'prod' } },
    spec: { volumeMode: 'Filesystem', accessModes: ['ReadWriteOnce', 'ReadOnlyMany'] },
    status: { phase: 'Bound' },
  },
}
const share: VolumeObjects = {
  persistentVolume: { spec: { capacity: { storage: '1Ti' }, nfs: { server: '10.0.0.1', path: '/data' } } },
}
const scratch: VolumeObjects = { podVolume: { name: 'tmp', emptyDir: {} } }
const pending: VolumeObjects = { claim: { status: { phase: 'Pending' } } }

const volumes = { disk, share, scratch, pending }

function matched(conditions: object): string[] {
  const policies = parsePolicies(
    JSON.stringify({ version: 'v1', volumePolicies: [{ conditions, action: { type: 'skip' } }] }),
  )
  return Object.entries(volumes)
    .filter(([, objects]) => matchVolumePolicy(policies, volumeFactsOf(objects)) !== undefined)
    .map(([name]) => name)
}

describe('matchVolumePolicy', () => {
  const cases: [object, string[]][] = [
    [{}, ['disk', 'share', 'scratch', 'pending']],
    [{ capacity: '50Gi,50Gi' }, ['disk']],
    [{ capacity: '10Gi,' }, ['disk', 'share']],
    [{ capacity: ',50Gi' }, ['disk', 'scratch', 'pending']],
    [{ capacity: ',49Gi' }, ['scratch', 'pending']],
    [{ capacity: '51Gi, 2Ti' }, ['share']],
    [{ capacity: ',' }, ['disk', 'share', 'scratch', 'pending']],
    [{ storageClass: ['gp2', 'gp3'] }, ['disk']],
    [{ storageClass: [''] }, []],
    [{ storageClass: [] }, ['disk', 'share', 'scratch', 'pending']],
    [{ nfs: {} }, ['share']],
    [{ nfs: { server: '10.0.0.1' } }, ['share']],
    [{ nfs: { server: '10.0.0.2' } }, []],
    [{ nfs: { path: '/data' } }, ['share']],
    [{ nfs: { server: '10.0.0.1', path: '/other' } }, []],
    [{ csi: {} }, ['disk']],
    [{ csi: { driver: 'ebs.csi.aws.com' } }, ['disk']],
    [{ csi: { driver: 'other' } }, []],
    [{ csi: { driver: 'ebs.csi.aws.com', volumeAttributes: { tier: 'fast' } } }, ['disk']],
    [{ csi: { driver: 'ebs.csi.aws.com', volumeAttributes: { tier: 'slow' } } }, []],
    [{ volumeTypes: ['emptyDir', 'nfs'] }, ['share', 'scratch']],
    [{ volumeTypes: ['csi'] }, ['disk']],
    [{ pvcLabels: { app: 'web' } }, ['disk']],
    [{ pvcLabels: { app: 'web', env: 'test' } }, []],
    [{ pvcPhase: ['Pending', 'Lost'] }, ['pending']],
    [{ pvcVolumeMode: 'Filesystem' }, ['disk']],
    [{ pvcVolumeMode: 'Block' }, []],
    [{ pvcAccessModes: ['ReadOnlyMany', 'ReadWriteOnce'] }, ['disk']],
    [{ pvcAccessModes: ['ReadWriteOnce'] }, []],
    [{ storageClass: ['gp2'], pvcPhase: ['Pending'] }, []],
    [{ storageClass: ['gp2'], pvcPhase: ['Bound'], volumeTypes: ['csi'] }, ['disk']],
  ]
  for (const [conditions, names] of cases) {
    it(`matches ${JSON.stringify(conditions)} with ${names.join(', ') || 'nothing'}`, () => {
      assert.deepEqual(matched(conditions), names)
    })
  }

  it('takes the action of the first policy that matches', () => {
    const policies = parsePolicies(`
version: v1
volumePolicies:
- {conditions: {nfs: {}}, action: {type: skip}}
- {conditions: {capacity: "10Gi,"}, action: {type: snapshot, parameters: {a: 1}}}
- {conditions: {}, action: {type: fs-backup}}
`)
    const actionFor = (objects: VolumeObjects) => matchVolumePolicy(policies, volumeFactsOf(objects))
    assert.deepEqual(actionFor(share), { type: 'skip' })
    assert.deepEqual(actionFor(disk), { type: 'snapshot', parameters: { a: 1 } })
    assert.deepEqual(actionFor(scratch), { type: 'fs-backup' })
  })

  it('decides nothing without policies', () => {
    assert.equal(matchVolumePolicy(undefined, volumeFactsOf(disk)), undefined)
    assert.equal(matchVolumePolicy({ volumePolicies: [] }, volumeFactsOf(disk)), undefined)
  })
})

describe('volumeFactsOf', () => {
  it('believes the PersistentVolume rather than the pod', () => {
    const facts = volumeFactsOf({ ...share, podVolume: { persistentVolumeClaim: { claimName: 'data' } } })
    assert.equal(facts.volumeType, 'nfs')
    assert.deepEqual(facts.nfs, { server: '10.0.0.1', path: '/data' })
  })

  it('knows no type for a claim in a pod', () => {
    assert.equal(
      volumeFactsOf({ podVolume: { persistentVolumeClaim: { claimName: 'data' } } }).volumeType,
      undefined,
    )
  })

  it('calls types as policies do', () => {
    assert.equal(volumeFactsOf({ persistentVolume: { spec: { storageos: {} } } }).volumeType, 'storageOS')
    assert.equal(volumeFactsOf({ podVolume: { configMap: { name: 'c' } } }).volumeType, 'configMap')
  })
})
