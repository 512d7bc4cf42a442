import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type ClaimToFill, claimInNeed, type RestoredPair, whyUnfilled } from './decide-restored-pair.ts'

const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'vsc-1' }

function claim(phase: string | undefined, spec: ClaimToFill['spec'] = { dataSource: source }): ClaimToFill {
  return {
    ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec },
    ...(phase !== undefined && { status: { phase } }),
  }
}

const isNeeded = (...claims: ClaimToFill[]) => claimInNeed({ name: 'vsc-1' }, claims) !== undefined

describe('a snapshot that a restore fills volumes from', () => {
  it('is needed by a claim that is made from it and has no volume', () => {
    assert.ok(isNeeded(claim('Pending')))
    assert.ok(isNeeded(claim(undefined)))
    assert.ok(isNeeded(claim('Bound'), claim('Pending', { dataSourceRef: source })))
  })

  it('is not needed without claims, by claims with a volume, or by claims that are made from something else', () => {
    assert.ok(!isNeeded())
    assert.ok(!isNeeded(claim('Bound'), claim('Lost')))
    assert.ok(!isNeeded(claim('Pending', { dataSource: { ...source, name: 'vsc-2' } })))
    assert.ok(!isNeeded(claim('Pending', { dataSource: { kind: 'PersistentVolumeClaim', name: 'vsc-1' } })))
    assert.ok(!isNeeded(claim('Pending', { dataSource: null, dataSourceRef: null })))
  })
})

describe('why a claim has no volume yet', () => {
  const object = (status: object) => ({ metadata: { name: 'vsc-1' }, spec: {}, status })
  const why = (snapshot: object | undefined, content: object | undefined) =>
    whyUnfilled({
      snapshot: snapshot && object(snapshot),
      content: content && object(content),
    } as unknown as RestoredPair)

  it('is what the driver says', () => {
    assert.match(
      why({ error: { message: 'later' } }, { error: { message: 'no such snapshot' } }),
      /: no such snapshot$/,
    )
    assert.match(why({ error: { message: 'no content' } }, {}), /: no content$/)
  })

  it('is what is missing, where nobody says anything', () => {
    assert.equal(why({}, undefined), 'the content of its snapshot is gone')
    assert.equal(why(undefined, {}), 'its snapshot is gone')
    assert.equal(why({ readyToUse: false }, {}), 'its snapshot is not ready')
    assert.equal(why({ readyToUse: true }, {}), 'no volume was made of its snapshot yet')
  })
})
