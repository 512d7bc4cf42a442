import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BackupStorageLocation } from '@lateen/api'
import { changesSpec, frequencyOf, nextStep, surplusDefaults } from './backup-storage-location.ts'

const MINUTE = 60_000

function location(
  changes: { spec?: object; metadata?: object; status?: object } = {},
): BackupStorageLocation {
  return {
    apiVersion: 'velero.io/v1',
    kind: 'BackupStorageLocation',
    metadata: { name: 'l', namespace: 'velero', uid: 'u1', ...changes.metadata },
    spec: { provider: 'aws', objectStorage: { bucket: 'b' }, ...changes.spec },
    ...(changes.status && { status: changes.status }),
  }
}

describe('nextStep for a location', () => {
  const now = 1_000_000_000
  const validatedAgo = (ago: number, of = location()) => ({
    uid: of.metadata.uid,
    spec: of.spec,
    at: now - ago,
  })
  const step = (seen: BackupStorageLocation | undefined, ago?: number, serverFrequencyMs = MINUTE) =>
    nextStep({
      location: seen,
      validated: ago === undefined || seen === undefined ? undefined : validatedAgo(ago, seen),
      now,
      serverFrequencyMs,
    })

  it('forgets a location that is gone', () => {
    assert.deepEqual(step(undefined), { type: 'forget' })
  })

  it('validates a location that this process has not seen, even with validation off', () => {
    assert.deepEqual(step(location()), { type: 'validate' })
    assert.deepEqual(step(location({ spec: { validationFrequency: '0s' } })), { type: 'validate' })
    assert.deepEqual(step(location(), undefined, 0), { type: 'validate' })
  })

  it('validates at once when the spec has changed, even with validation off', () => {
    const changed = location({ spec: { validationFrequency: '0s', config: { region: 'x' } } })
    const validated = validatedAgo(1, location({ spec: { validationFrequency: '0s' } }))
    assert.deepEqual(nextStep({ location: changed, validated, now, serverFrequencyMs: MINUTE }), {
      type: 'validate',
    })
  })

  it('validates at once when another location has taken the name', () => {
    const other = location({ metadata: { uid: 'u2' } })
    const facts = { location: other, validated: validatedAgo(1), now, serverFrequencyMs: MINUTE }
    assert.deepEqual(nextStep(facts), { type: 'validate' })
  })

  it('waits for the rest of the period, by the server frequency or its own', () => {
    assert.deepEqual(step(location(), 20_000), { type: 'wait', afterMs: 40_000 })
    const own = location({ spec: { validationFrequency: '1h0m0s' } })
    assert.deepEqual(step(own, MINUTE), { type: 'wait', afterMs: 59 * MINUTE })
  })

  it('validates when the period is over', () => {
    assert.deepEqual(step(location(), MINUTE), { type: 'validate' })
    assert.deepEqual(step(location({ spec: { validationFrequency: '10s' } }), 11_000), { type: 'validate' })
  })

  it('rests when validation is off', () => {
    assert.deepEqual(step(location({ spec: { validationFrequency: '0s' } }), 1), { type: 'rest' })
    assert.deepEqual(step(location(), 1, 0), { type: 'rest' })
  })

  it('is not moved by a change of status', () => {
    const validated = validatedAgo(1)
    const seen = location({ status: { phase: 'Available' } })
    assert.equal(nextStep({ location: seen, validated, now, serverFrequencyMs: MINUTE }).type, 'wait')
  })
})

describe('frequencyOf', () => {
  it('prefers a valid own frequency', () => {
    assert.equal(frequencyOf(location({ spec: { validationFrequency: '30s' } }), MINUTE), 30_000)
    assert.equal(frequencyOf(location({ spec: { validationFrequency: '0' } }), MINUTE), 0)
  })

  it('falls back to the server for a missing, negative or malformed one', () => {
    for (const validationFrequency of [undefined, null, '', '-5s', 'often']) {
      assert.equal(frequencyOf(location({ spec: { validationFrequency } }), MINUTE), MINUTE)
    }
  })
})

describe('surplusDefaults', () => {
  const made = (name: string, creationTimestamp: string, isDefault = true) =>
    location({ metadata: { name, creationTimestamp }, spec: { default: isDefault } })
  const names = (locations: BackupStorageLocation[]) =>
    surplusDefaults(locations).map(({ metadata }) => metadata.name)

  it('is empty with one default or none', () => {
    assert.deepEqual(names([]), [])
    assert.deepEqual(names([made('a', '2026-01-01T00:00:00Z', false), made('b', '2026-01-01T00:00:00Z')]), [])
  })

  it('holds all but the newest', () => {
    const locations = [
      made('a', '2026-01-02T00:00:00Z'),
      made('b', '2026-01-03T00:00:00Z'),
      made('c', '2026-01-01T00:00:00Z'),
      made('d', '2026-01-04T00:00:00Z', false),
    ]
    assert.deepEqual(names(locations), ['a', 'c'])
  })

  it('keeps the first by name of those made in the same second', () => {
    const second = '2026-01-01T00:00:00Z'
    assert.deepEqual(names([made('b', second), made('a', second)]), ['b'])
  })
})

describe('changesSpec', () => {
  it('lets additions, deletions and changes of the spec through, and nothing else', () => {
    const before = location()
    const validated = location({ status: { phase: 'Available' } })
    const changed = location({ spec: { default: true } })
    assert.equal(changesSpec({ type: 'added', object: before }), true)
    assert.equal(changesSpec({ type: 'deleted', object: before }), true)
    assert.equal(changesSpec({ type: 'updated', object: changed, previous: before }), true)
    assert.equal(changesSpec({ type: 'updated', object: validated, previous: before }), false)
  })
})
