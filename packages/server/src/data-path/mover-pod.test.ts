import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type DaemonSet, type MoverFacts, type MoverVolume, moverPod } from './mover-pod.ts'

const owner = {
  apiVersion: 'velero.io/v1',
  kind: 'PodVolumeBackup',
  metadata: { name: 'daily-x1', namespace: 'velero', uid: 'aaaa-bbbb' },
}

const nodeAgent: DaemonSet = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'node-agent', namespace: 'velero' },
  spec: {
    template: {
      metadata: { labels: { 'azure.workload.identity/use': 'true', name: 'node-agent' } },
      spec: {
        serviceAccountName: 'velero',
        containers: [
          {
            image: 'lateen:v1',
            args: ['node-agent', 'server', '--log-level', 'debug', '--log-format=json'],
            env: [{ name: 'NODE_NAME' }],
            volumeMounts: [{ name: 'host-pods' }, { name: 'scratch' }, { name: 'cloud-credentials' }],
            securityContext: { privileged: true },
          },
        ],
        volumes: [
          { name: 'host-pods', hostPath: { path: '/var/lib/kubelet/pods' } },
          { name: 'host-plugins', hostPath: { path: '/var/lib/kubelet/plugins' } },
          { name: 'scratch' },
          { name: 'cloud-credentials' },
        ],
        tolerations: [{ key: 'CriticalAddonsOnly' }, { key: 'other' }],
      },
    },
  },
}

const facts = {
  work: 'backup',
  owner,
  node: 'one',
  os: 'linux',
  volume: { hostPath: '/var/lib/kubelet/pods/u/volumes/x/data' },
  nodeAgent,
  config: {},
  resourceTimeout: '10m0s',
} as const

/** A node agent whose pod and container have security contexts of somebody's own. */
function agentWith(ofPod: object, ofContainer: object): DaemonSet {
  const { template } = nodeAgent.spec
  const [container] = template.spec.containers
  const containers = [{ ...container, image: 'lateen:v1', securityContext: ofContainer }]
  const spec = { ...template.spec, securityContext: ofPod, containers }
  return { ...nodeAgent, spec: { template: { ...template, spec } } }
}

interface MoverSpec {
  containers: Record<string, unknown>[]
  volumes: { name: string; hostPath?: { path: string; type?: string } }[]
  securityContext: object
  tolerations: object[]
}

describe('moverPod', () => {
  it('sees one volume of the node, and beside it what the node agent has of its own', () => {
    const { spec } = moverPod(facts) as unknown as { spec: MoverSpec }
    assert.deepEqual(spec.volumes, [
      { name: 'aaaa-bbbb', hostPath: { path: facts.volume.hostPath, type: 'Directory' } },
      { name: 'scratch' },
      { name: 'cloud-credentials' },
    ])
    const mounts = spec.containers[0]?.volumeMounts as { name: string }[]
    assert.deepEqual(
      mounts.map(({ name }) => name),
      ['aaaa-bbbb', 'scratch', 'cloud-credentials'],
    )
  })

  it('runs the command of the design as root, privileged as the node agent is', () => {
    const { spec } = moverPod(facts) as unknown as { spec: MoverSpec }
    const [container] = spec.containers
    assert.deepEqual(container?.command, ['/velero', 'pod-volume', 'backup'])
    assert.deepEqual(container?.args, [
      '--volume-path=/aaaa-bbbb',
      '--resource-timeout=10m0s',
      '--pod-volume-backup=daily-x1',
      '--log-level',
      'debug',
      '--log-format=json',
    ])
    assert.deepEqual(container?.securityContext, { privileged: true })
    assert.deepEqual(spec.securityContext, { runAsUser: 0 })
  })

  it('has the security contexts of the node agent, except that it is root and owns no files by a group', () => {
    const seccompProfile = { type: 'RuntimeDefault' }
    const agent = agentWith(
      { seccompProfile, runAsUser: 7, runAsNonRoot: true, fsGroup: 7, fsGroupChangePolicy: 'Always' },
      {
        ...{ readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, seLinuxOptions: { type: 'own' } },
        ...{ runAsUser: 7, runAsNonRoot: true, privileged: false },
      },
    )
    const securityOf = (more: Partial<MoverFacts> = {}) => {
      const { spec } = moverPod({ ...facts, nodeAgent: agent, ...more }) as unknown as { spec: MoverSpec }
      return [spec.securityContext, spec.containers[0]?.securityContext]
    }
    const ofPod = { seccompProfile, runAsUser: 0 }
    const inherited = { readOnlyRootFilesystem: true, seLinuxOptions: { type: 'own' } }
    const confined = { ...inherited, allowPrivilegeEscalation: false }
    assert.deepEqual(securityOf(), [ofPod, { ...confined, privileged: false }])
    assert.deepEqual(securityOf({ config: { privilegedFsBackup: true } }), [
      ofPod,
      { ...inherited, privileged: true },
    ])
    const volume = { claim: 'daily-x1', mode: 'Filesystem' } as const
    assert.deepEqual(securityOf({ volume }), [ofPod, confined])
    assert.deepEqual(securityOf({ volume, noRelabeling: true }), [
      { ...ofPod, seLinuxOptions: { type: 'spc_t' } },
      { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false },
    ])
  })

  it('stays on its node where the node agent stays, and goes elsewhere by the well-known tolerations alone', () => {
    const tolerationsOf = (node: string | undefined) =>
      (moverPod({ ...facts, node }) as unknown as { spec: MoverSpec }).spec.tolerations
    assert.deepEqual(tolerationsOf('one'), [{ key: 'CriticalAddonsOnly' }, { key: 'other' }])
    assert.deepEqual(tolerationsOf(undefined), [{ key: 'CriticalAddonsOnly' }])
  })

  it('takes resources, labels and priority from the settings', () => {
    const config = {
      podResources: { cpuRequest: '100m', memoryLimit: '256Mi', cpuLimit: '0' },
      podLabels: { team: 'a' },
      podAnnotations: { note: 'b' },
      privilegedFsBackup: false,
      priorityClassName: 'low',
    }
    const { spec, metadata } = moverPod({ ...facts, config }) as unknown as {
      spec: MoverSpec & { priorityClassName: string }
      metadata: { labels: object; annotations: object }
    }
    assert.deepEqual(spec.containers[0]?.resources, {
      requests: { cpu: '100m' },
      limits: { memory: '256Mi' },
    })
    assert.deepEqual(spec.containers[0]?.securityContext, { privileged: false })
    assert.equal(spec.priorityClassName, 'low')
    assert.deepEqual(metadata.labels, {
      team: 'a',
      'velero.io/pod-volume-backup': 'daily-x1',
      'velero.io/exposer-pod-group': 'pod-volume-backup',
    })
    assert.deepEqual(metadata.annotations, { note: 'b' })
  })

  it('is a Windows pod on a Windows node', () => {
    const { spec } = moverPod({ ...facts, work: 'restore', os: 'windows' }) as unknown as {
      spec: MoverSpec & { os: object }
    }
    assert.deepEqual(spec.os, { name: 'windows' })
    assert.deepEqual(spec.securityContext, { windowsOptions: { runAsUserName: 'ContainerAdministrator' } })
    assert.equal(spec.containers[0]?.securityContext, undefined)
    assert.equal(spec.tolerations.length, 4)
  })

  describe('for a volume behind a claim', () => {
    const upload = { ...owner, apiVersion: 'velero.io/v2alpha1', kind: 'DataUpload' }
    const made = (volume: MoverVolume, more: Partial<MoverFacts> = {}) =>
      moverPod({ ...facts, owner: upload, node: undefined, volume, ...more })
    const containerOf = (pod: ReturnType<typeof moverPod>) =>
      (pod.spec as unknown as MoverSpec).containers[0] ?? {}

    it('is put anywhere by the scheduler, apart from others of its sort, and is no part of backups', () => {
      const { metadata, spec } = made(
        { claim: 'daily-x1', mode: 'Filesystem' },
        { affinity: { some: 'where' } },
      )
      assert.equal(spec?.nodeName, undefined)
      const { affinity, topologySpreadConstraints } = spec as unknown as Record<string, unknown>
      assert.deepEqual(affinity, { some: 'where' })
      assert.deepEqual(topologySpreadConstraints, [
        {
          ...{ maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
          labelSelector: { matchLabels: { 'velero.io/exposer-pod-group': 'snapshot-exposer' } },
        },
      ])
      assert.equal(metadata.labels?.['velero.io/data-upload'], 'daily-x1')
      assert.equal(metadata.labels?.['velero.io/exclude-from-backup'], 'true')
    })

    it('mounts a folder, read only where that is wanted, and is not privileged', () => {
      const container = containerOf(made({ claim: 'daily-x1', mode: 'Filesystem', readOnly: true }))
      const [mount] = container.volumeMounts as object[]
      assert.deepEqual(mount, { name: 'aaaa-bbbb', mountPath: '/aaaa-bbbb', readOnly: true })
      assert.deepEqual(container.securityContext, {})
      assert.deepEqual(container.command, ['/velero', 'data-mover', 'backup'])
      assert.deepEqual((container.args as string[]).slice(0, 4), [
        ...['--volume-path=/aaaa-bbbb', '--volume-mode=Filesystem', '--resource-timeout=10m0s'],
        '--data-upload=daily-x1',
      ])
    })

    it('has a device where the volume is one', () => {
      const container = containerOf(made({ claim: 'daily-x1', mode: 'Block' }))
      assert.deepEqual(container.volumeDevices, [{ name: 'aaaa-bbbb', devicePath: '/aaaa-bbbb' }])
      assert.ok(!(container.volumeMounts as { name: string }[]).some(({ name }) => name === 'aaaa-bbbb'))
    })
  })
})
