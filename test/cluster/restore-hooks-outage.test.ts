import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { givenCluster } from '../../tools/cluster/testing.ts'
import { annotated, hooksNamespace, openHooksScene, pod, probe, touch } from './restore-hooks-scene.ts'

const given = await givenCluster({ node: true, own: true })

describe('restore hooks in an outage', { skip: given.skip }, () => {
  it('run although the API server was restarted while they waited', async () => {
    await using scene = await openHooksScene(given.cluster)
    const annotations = annotated({ command: JSON.stringify(touch('late')), 'wait-for-ready': 'true' })
    await using hooks = scene.hooksOf({}, new AbortController().signal)
    const patient = pod('patient', { annotations, main: probe('test', '-f', '/tmp/go') })
    await scene.restorePods(hooks, {}, [patient])
    const running = ['--for=jsonpath={.status.phase}=Running', '--timeout=180s']
    await given.cluster.kubectl(['wait', '-n', hooksNamespace, 'pod/patient', ...running])
    await given.cluster.kill('kube-apiserver')
    await given.cluster.start('kube-apiserver')
    assert.equal(await scene.has('patient', 'late'), false)
    await scene.run('patient', ...touch('go'))
    const { results, hookStatus } = await hooks.finish(120_000)
    assert.deepEqual(results.errors, {})
    assert.deepEqual(hookStatus, { hooksAttempted: 1, hooksFailed: 0 })
    assert.equal(await scene.has('patient', 'late'), true)
  })
})
