import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ActionItem } from '@lateen/plugin'
import type { GroupResource } from '../item/item.ts'
import { HookCounter } from './hook-counter.ts'
import { commandOf, hooksOf, resolveSpecHooks } from './pod-hooks.ts'

const resolve = (name: string) =>
  ['pods', 'pod', 'po'].includes(name)
    ? { groupResource: 'pods' as GroupResource, namespaced: true }
    : undefined

const pod = (metadata: object = {}): ActionItem => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'db', namespace: 'shop', ...metadata },
})

const exec = (...command: string[]) => ({ exec: { command } })

describe('the hooks of a pod', () => {
  it('come from its annotations, in the new form or, before the backup, in the old one', () => {
    const annotations = {
      'pre.hook.backup.velero.io/command': '["fsfreeze","-f","/data"]',
      'pre.hook.backup.velero.io/container': 'side',
      'pre.hook.backup.velero.io/on-error': 'Fail',
      'pre.hook.backup.velero.io/timeout': '2m',
      'hook.backup.velero.io/command': '/old',
    }
    const [hook, ...more] = hooksOf(pod({ annotations }), 'pre', []).hooks
    assert.deepEqual(more, [])
    assert.deepEqual(hook, {
      source: 'annotation',
      name: '',
      phase: 'pre',
      index: 0,
      container: 'side',
      command: ['fsfreeze', '-f', '/data'],
      onError: 'Fail',
      timeoutMs: 120_000,
    })
    const old = pod({ annotations: { 'hook.backup.velero.io/command': '/old' } })
    assert.deepEqual(hooksOf(old, 'pre', []).hooks[0]?.command, ['/old'])
    assert.deepEqual(hooksOf(old, 'post', []).hooks, [])
  })

  it('wait 30 seconds where the timeout is missing, zero or not understood, and say the latter', () => {
    for (const [timeout, warned] of [
      ['', 0],
      ['0s', 0],
      ['-5s', 0],
      ['soon', 1],
    ] as const) {
      const annotations = {
        'post.hook.backup.velero.io/command': 'x',
        'post.hook.backup.velero.io/timeout': timeout,
      }
      const { hooks, warnings } = hooksOf(pod({ annotations }), 'post', [])
      assert.equal(hooks[0]?.timeoutMs, 30_000)
      assert.equal(warnings.length, warned)
    }
  })

  it('ignore an annotation on-error that is neither Fail nor Continue', () => {
    const annotations = {
      'pre.hook.backup.velero.io/command': 'x',
      'pre.hook.backup.velero.io/on-error': 'fail',
    }
    assert.equal(hooksOf(pod({ annotations }), 'pre', []).hooks[0]?.onError, undefined)
  })

  it('come from all entries of the spec that are for the pod, in order, unless an annotation of that phase is there', () => {
    const specHooks = resolveSpecHooks(
      {
        resources: [
          { name: 'one', includedNamespaces: ['sh*'], pre: [exec('a'), exec('b')], post: [exec('z')] },
          { name: 'two', excludedNamespaces: ['shop'], pre: [exec('never')] },
          { name: 'three', labelSelector: { matchLabels: { app: 'db' } }, pre: [exec('c')] },
          { name: 'four', labelSelector: { matchLabels: { app: 'web' } }, pre: [exec('never')] },
          { name: 'five', includedResources: ['po'], pre: [exec('d')] },
          { name: 'six', excludedResources: ['pods'], pre: [exec('never')] },
        ],
      },
      resolve,
    )
    const labels = { app: 'db' }
    const commands = (metadata: object, phase: 'pre' | 'post') =>
      hooksOf(pod(metadata), phase, specHooks).hooks.map(({ command }) => command.join(' '))
    assert.deepEqual(commands({ labels }, 'pre'), ['a', 'b', 'c', 'd'])
    assert.deepEqual(commands({ labels }, 'post'), ['z'])
    const annotations = { 'pre.hook.backup.velero.io/command': 'mine' }
    assert.deepEqual(commands({ labels, annotations }, 'pre'), ['mine'])
    assert.deepEqual(commands({ labels, annotations }, 'post'), ['z'])
  })
})

describe('the command of a hook annotation', () => {
  it('is a JSON list of strings or one argument', () => {
    assert.deepEqual(commandOf('["a","b c"]'), ['a', 'b c'])
    assert.deepEqual(commandOf('/bin/sync now'), ['/bin/sync now'])
    assert.deepEqual(commandOf('[ -f x ]'), ['[ -f x ]'])
    assert.deepEqual(commandOf('[1]'), ['[1]'])
  })
})

describe('the count of hooks', () => {
  it('counts each hook of each pod once', () => {
    const counter = new HookCounter()
    const specHooks = resolveSpecHooks({ resources: [{ name: 'n', pre: [exec('a'), exec('a')] }] }, resolve)
    const { hooks } = hooksOf(pod(), 'pre', specHooks)
    for (const hook of [...hooks, ...hooks]) counter.attempted({ namespace: 'shop', pod: 'db', hook })
    for (const hook of hooks.slice(1)) counter.failed({ namespace: 'shop', pod: 'db', hook })
    assert.deepEqual(counter.status, { hooksAttempted: 2, hooksFailed: 1 })
  })
})
