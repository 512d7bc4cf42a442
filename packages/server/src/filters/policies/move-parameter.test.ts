import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { movesByPolicy } from './move-parameter.ts'
import { InvalidPoliciesError, parsePolicies } from './parse-policies.ts'

const policy = (action: string) =>
  parsePolicies(`version: v1\nvolumePolicies:\n- {conditions: {csi: {}}, action: ${action}}`)
    .volumePolicies[0]?.action

describe('the parameter that moves the content of snapshots', () => {
  it('says yes or no for the volumes of a snapshot policy', () => {
    assert.equal(movesByPolicy(policy('{type: snapshot, parameters: {snapshotMoveData: true}}')), true)
    assert.equal(movesByPolicy(policy('{type: snapshot, parameters: {snapshotMoveData: false}}')), false)
    assert.equal(movesByPolicy(policy('{type: snapshot, parameters: {snapshotMoveData: "true"}}')), true)
  })

  it('says nothing where it is absent, or where nothing is snapshotted', () => {
    assert.equal(movesByPolicy(undefined), undefined)
    assert.equal(movesByPolicy(policy('{type: snapshot}')), undefined)
    assert.equal(movesByPolicy(policy('{type: snapshot, parameters: {other: 1}}')), undefined)
    assert.equal(movesByPolicy(policy('{type: fs-backup, parameters: {snapshotMoveData: true}}')), undefined)
  })

  it('is refused when it is neither true nor false', () => {
    assert.throws(
      () => policy('{type: snapshot, parameters: {snapshotMoveData: sometimes}}'),
      (error: unknown) =>
        error instanceof InvalidPoliciesError &&
        error.message.includes('action.parameters.snapshotMoveData: must be true or false'),
    )
    assert.doesNotThrow(() => policy('{type: custom, parameters: {snapshotMoveData: sometimes}}'))
  })
})
