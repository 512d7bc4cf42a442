import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import { specHooksOf } from '../../hooks/restore-spec-hooks.ts'
import { execHooksOf } from './exec-hooks.ts'

const pod = (metadata: object = {}): ActionItem => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db', namespace: 'shop', ...metadata },
  spec: { containers: [{ name: 'main' }, { name: 'side' }] },
})

const annotations = (hook: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(hook).map(([key, value]) => [`post.hook.restore.velero.io/${key}`, value]),
  )

const exec = (...command: string[]) => ({ exec: { command } })

describe('the exec hooks of a restored pod', () => {
  it('come from its annotations', () => {
    const { hooks, warnings } = execHooksOf(
      pod({
        annotations: annotations({
          command: '["load","/data"]',
          container: 'side',
          'on-error': 'Fail',
          'exec-timeout': '2m',
          'wait-timeout': '5m',
          'wait-for-ready': 'T',
        }),
      }),
      specHooksOf({ hooks: { resources: [{ name: 'never', postHooks: [exec('no')] }] } }),
    )
    assert.deepEqual(warnings, [])
    assert.deepEqual(hooks, [
      {
        source: 'annotation',
        name: '<from-annotation>',
        phase: 'post',
        index: 0,
        container: 'side',
        command: ['load', '/data'],
        onError: 'Fail',
        timeoutMs: 120_000,
        waitMs: 300_000,
        waitForReady: true,
      },
    ])
  })

  it('have defaults for what is missing, and for what is not understood with a warning', () => {
    const bad = {
      'exec-timeout': 'soon',
      'wait-timeout': 'later',
      'wait-for-ready': 'yes',
      'on-error': 'fail',
    }
    for (const [given, warned] of [
      [{}, 0],
      [{ 'exec-timeout': '0s', 'wait-timeout': '-1s', 'wait-for-ready': 'FALSE' }, 0],
      [bad, 3],
    ] as const) {
      const { hooks, warnings } = execHooksOf(
        pod({ annotations: annotations({ command: 'load all', ...given }) }),
        [],
      )
      const [hook] = hooks
      assert.deepEqual(hook?.command, ['load all'])
      assert.equal(hook?.container, 'main')
      assert.equal(hook?.onError, undefined)
      assert.equal(hook?.timeoutMs, 30_000)
      assert.equal(hook?.waitMs, undefined)
      assert.equal(hook?.waitForReady, false)
      assert.equal(warnings.length, warned)
    }
  })

  it('come from all entries of the spec that are for the pod, in order', () => {
    const specHooks = specHooksOf({
      hooks: {
        resources: [
          { name: 'one', includedNamespaces: ['sh*'], postHooks: [exec('a'), { init: {} }, exec('b')] },
          { name: 'two', excludedNamespaces: ['shop'], postHooks: [exec('never')] },
          { name: 'three', labelSelector: { matchLabels: { app: 'db' } }, postHooks: [exec('c')] },
          { name: 'four', labelSelector: { matchLabels: { app: 'web' } }, postHooks: [exec('never')] },
          { name: 'five', includedResources: ['deployments'], postHooks: [exec('d')] },
        ],
      },
    })
    const { hooks } = execHooksOf(pod({ labels: { app: 'db' } }), specHooks)
    assert.deepEqual(
      hooks.map(({ name, index, command }) => [name, index, ...command]),
      [
        ['one', 0, 'a'],
        ['one', 2, 'b'],
        ['three', 0, 'c'],
        ['five', 0, 'd'],
      ],
    )
  })

  it('leave out a container that the pod does not have, and say so', () => {
    const postHooks = [{ exec: { command: ['x'], container: 'gone' } }, exec('y')]
    const { hooks, warnings } = execHooksOf(
      pod(),
      specHooksOf({ hooks: { resources: [{ name: 'h', postHooks }] } }),
    )
    assert.deepEqual(
      hooks.map(({ command }) => command),
      [['y']],
    )
    assert.match(String(warnings[0]?.fields.error), /no container "gone", but main, side: hook h is not run/)
  })

  it('are none for a pod without containers', () => {
    const bare: ActionItem = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } }
    assert.deepEqual(execHooksOf(bare, []), { hooks: [], warnings: [] })
  })
})
