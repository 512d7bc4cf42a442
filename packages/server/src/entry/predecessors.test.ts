import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { predecessorsOf, type ServerPod } from './predecessors.ts'

function pod(
  name: string,
  container: { image: string; command?: string[]; args?: string[] },
  phase = 'Running',
): ServerPod {
  const server = { command: ['/velero'], args: ['server', '--log-level=info'] }
  const spec = { containers: [{ image: 'sidecar' }, { ...server, ...container }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec, status: { phase } }
}

describe('predecessorsOf', () => {
  const own = pod('own', { image: 'lateen:2' })

  it('are servers of another image, of Velero or of another version', () => {
    const velero = pod('old', { image: 'velero:1' })
    const earlier = pod('earlier', { image: 'lateen:1', command: ['/lateen'] })
    assert.deepEqual(predecessorsOf({ podName: 'own', elects: true }, [velero, own, earlier]), [
      'old',
      'earlier',
    ])
  })

  it('are not other replicas, node agents, jobs, or pods that have ended', () => {
    const others = [
      pod('replica', { image: 'lateen:2' }),
      pod('node-agent', { image: 'velero:1', args: ['node-agent', 'server'] }),
      pod('maintenance', { image: 'velero:1', args: ['repo-maintenance'] }),
      pod('workload', { image: 'shop:1', command: ['/shop'] }),
      pod('evicted', { image: 'velero:1' }, 'Failed'),
      { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'bare' } },
    ]
    assert.deepEqual(predecessorsOf({ podName: 'own', elects: true }, [own, ...others]), [])
  })

  it('are earlier pods of the same image, unless a lease decides among them', () => {
    const at = (name: string, creationTimestamp: string): ServerPod => ({
      ...own,
      metadata: { name, creationTimestamp },
    })
    const pods = [
      at('own', '2026-01-02T00:00:00Z'),
      at('earlier', '2026-01-01T00:00:00Z'),
      at('later', '2026-01-03T00:00:00Z'),
    ]
    assert.deepEqual(predecessorsOf({ podName: 'own', elects: false }, pods), ['earlier'])
    assert.deepEqual(predecessorsOf({ podName: 'own', elects: true }, pods), [])
  })

  it('are unknown to a process outside of the cluster', () => {
    assert.deepEqual(
      predecessorsOf({ podName: 'elsewhere', elects: false }, [pod('old', { image: 'velero:1' })]),
      [],
    )
  })
})
