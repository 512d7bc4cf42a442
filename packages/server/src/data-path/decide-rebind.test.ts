import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { decideDiscard, decideRebind, type RebindFacts, type RebindStep } from './decide-rebind.ts'
import type { Claim, Volume } from './intermediate-claim.ts'

const meta = (name: string, namespace = '') => ({ name, namespace, uid: `uid-${name}` })

function claim(name: string, spec: Claim['spec'] = {}, phase = 'Pending'): Claim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: meta(name, 'shop'),
    spec,
    status: { phase },
  }
}

function volume(policy: string, claimUid: string, phase = 'Bound'): Volume {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: meta('pv'),
    spec: { persistentVolumeReclaimPolicy: policy, claimRef: { uid: claimUid } },
    status: { phase },
  }
}

/** A mover has filled the volume, and nobody has done anything yet. */
const filled: RebindFacts = {
  hasPod: true,
  claim: claim('between', { volumeName: 'pv' }, 'Bound'),
  volume: volume('Delete', 'uid-between'),
  target: claim('target'),
  mayGetVolume: false,
  reclaimPolicy: 'Delete',
}

/** Neither claim nor volume. */
const nothing: RebindFacts = {
  ...{ hasPod: false, claim: undefined, volume: undefined, target: claim('target') },
  ...{ mayGetVolume: false, reclaimPolicy: undefined },
}

/** What Kubernetes makes of a step, and what its controllers do by themselves then. */
function after(step: RebindStep, facts: RebindFacts): RebindFacts {
  const pv = facts.volume
  if (pv === undefined) return facts
  switch (step.type) {
    case 'setPolicy':
      return reclaimed({
        ...facts,
        volume: { ...pv, spec: { ...pv.spec, persistentVolumeReclaimPolicy: step.policy } },
      })
    case 'removePod':
      return { ...facts, hasPod: false }
    case 'removeClaim':
      // A claim that a pod uses stays until that is gone.
      return facts.hasPod
        ? facts
        : reclaimed({ ...facts, claim: undefined, volume: { ...pv, status: { phase: 'Released' } } })
    case 'reserve':
      return {
        ...facts,
        volume: {
          ...pv,
          spec: { ...pv.spec, claimRef: { uid: 'uid-target' } },
          status: { phase: 'Available' },
        },
      }
    case 'point':
      return {
        ...facts,
        target: claim('target', { volumeName: 'pv' }, 'Bound'),
        volume: { ...pv, status: { phase: 'Bound' } },
      }
    default:
      return facts
  }
}

/** The provisioner deletes what is released and to be deleted. */
function reclaimed(facts: RebindFacts): RebindFacts {
  const { spec, status } = facts.volume ?? {}
  const goes = status?.phase === 'Released' && spec?.persistentVolumeReclaimPolicy === 'Delete'
  return goes ? { ...facts, volume: undefined } : facts
}

function run(
  facts: RebindFacts,
  decide: (facts: RebindFacts) => RebindStep,
): { steps: string[]; states: RebindFacts[]; last: RebindFacts } {
  const steps: string[] = []
  const states = [facts]
  let now = facts
  for (let step = decide(now); steps.length < 20; step = decide(now)) {
    steps.push(step.type)
    if (step.type === 'done' || step.type === 'refuse') return { steps, states, last: now }
    now = after(step, now)
    states.push(now)
  }
  return assert.fail(steps.join())
}

describe('decideRebind', () => {
  it('keeps the volume before it takes anything away, and gives it its policy back at last', () => {
    const { steps, last } = run(filled, decideRebind)
    assert.deepEqual(steps, [
      ...['setPolicy', 'removePod', 'removeClaim', 'reserve', 'point'],
      ...['setPolicy', 'done'],
    ])
    assert.equal(last.volume?.spec?.persistentVolumeReclaimPolicy, 'Delete')
    assert.equal(last.target?.spec?.volumeName, 'pv')
  })

  it('comes to the same end for a volume that is kept anyway', () => {
    const { steps, last } = run(
      { ...filled, volume: volume('Retain', 'uid-between'), reclaimPolicy: 'Retain' },
      decideRebind,
    )
    assert.deepEqual(steps, ['removePod', 'removeClaim', 'reserve', 'point', 'done'])
    assert.equal(last.volume?.spec?.persistentVolumeReclaimPolicy, 'Retain')
  })

  it('goes on from every state that it has been in', () => {
    for (const state of run(filled, decideRebind).states) {
      const { steps, last } = run(state, decideRebind)
      assert.equal(steps.at(-1), 'done')
      assert.notEqual(last.volume, undefined)
    }
  })

  it('waits for the binding, and does not ask twice', () => {
    const asked = {
      ...filled,
      hasPod: false,
      claim: undefined,
      volume: volume('Retain', 'uid-target', 'Available'),
      target: claim('target', { volumeName: 'pv' }),
    }
    assert.deepEqual(decideRebind(asked), { type: 'wait' })
  })

  it('refuses what can never be', () => {
    const deleted = { ...meta('target'), deletionTimestamp: '2026-01-01T00:00:00Z' }
    for (const [facts, reason] of [
      [{ volume: undefined }, /does not exist/],
      [{ target: undefined }, /was deleted/],
      [{ target: { ...claim('target'), metadata: deleted } }, /was deleted/],
      [{ target: claim('target', { volumeName: 'other' }) }, /another volume by now, other/],
      [{ volume: { ...volume('Delete', 'uid-between'), metadata: deleted } }, /is being deleted/],
    ] as const) {
      const step = decideRebind({ ...filled, ...facts })
      assert.equal(step.type, 'refuse')
      assert.match(step.type === 'refuse' ? step.reason : '', reason)
    }
  })
})

describe('decideDiscard', () => {
  it('has claim and volume go, whatever the policy of the class', () => {
    for (const policy of ['Delete', 'Retain']) {
      const { last } = run({ ...filled, volume: volume(policy, 'uid-between') }, decideDiscard)
      assert.deepEqual([last.hasPod, last.claim, last.volume], [false, undefined, undefined])
    }
  })

  it('leaves no volume and no claim behind, in whatever state the work was given up', () => {
    for (const state of run(filled, decideRebind).states) {
      const { last } = run(state, decideDiscard)
      assert.deepEqual([last.hasPod, last.claim], [false, undefined])
      const isGiven = last.volume?.spec?.claimRef?.uid === 'uid-target'
      assert.ok(last.volume === undefined || isGiven)
      if (isGiven) assert.equal(last.volume?.spec?.persistentVolumeReclaimPolicy, 'Delete')
    }
  })

  it('takes no volume away from a claim that has it', () => {
    const given = {
      ...filled,
      hasPod: false,
      claim: undefined,
      volume: volume('Retain', 'uid-target'),
      target: claim('target', { volumeName: 'pv' }, 'Bound'),
      reclaimPolicy: 'Retain',
    }
    assert.deepEqual(decideDiscard(given), { type: 'done' })
  })

  it('has nothing to do where nothing was made', () => {
    assert.deepEqual(decideDiscard(nothing), { type: 'done' })
  })

  it('waits for the volume of a claim that was deleted while one was provisioned, which a class that retains would keep', () => {
    const early = { ...nothing, mayGetVolume: true }
    assert.deepEqual(decideDiscard({ ...early, claim: claim('between') }), { type: 'removeClaim' })
    assert.deepEqual(decideDiscard(early), { type: 'wait' })
    const late = { ...early, volume: volume('Retain', 'uid-between', 'Released') }
    assert.deepEqual(decideDiscard(late), { type: 'setPolicy', policy: 'Delete' })
    assert.deepEqual(decideDiscard(nothing), { type: 'done' })
  })
})
