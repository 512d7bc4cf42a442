import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Restore } from '@lateen/api'
import { noPodVolumeWaitAction } from './pod-volume-restore-action.ts'
import { type WaitFacts, waitContainer } from './wait-container.ts'

interface Wait {
  image: string
  command: string[]
  args: string[]
  resources: { requests: Record<string, string>; limits: Record<string, string> }
  volumeMounts: { name: string; mountPath: string }[]
  securityContext?: Record<string, unknown>
}

function waiting(pod: WaitFacts['pod'], config: Record<string, string> = {}): Wait {
  return waitContainer({
    pod,
    volumes: ['data', 'cache'],
    restoreUid: 'uid-1',
    image: 'registry.example.com/lateen:1',
    config: new Map(Object.entries(config)),
  }) as Wait
}

describe('The container that waits for restored volumes', () => {
  it('is told which restore to wait for, and sees every volume', () => {
    const { image, command, args, volumeMounts } = waiting({})
    assert.deepEqual(
      { image, command, args, volumeMounts },
      {
        image: 'registry.example.com/lateen:1',
        command: ['/velero-restore-helper'],
        args: ['uid-1'],
        volumeMounts: [
          { name: 'data', mountPath: '/restores/data' },
          { name: 'cache', mountPath: '/restores/cache' },
          { name: 'restore-wait-state', mountPath: '/restore-state' },
        ],
      },
    )
  })

  it('is what the ConfigMap says', () => {
    const { image, command, resources, securityContext } = waiting(
      { containers: [{ securityContext: { windowsOptions: {} } }] },
      {
        ...{ image: 'mirror/helper:2', command: '/wait', cpuRequest: '10m', memLimit: '64Mi' },
        ...{ secCtxRunAsUser: '7', secCtxRunAsGroup: '8', secCtxAllowPrivilegeEscalation: 'false' },
        secCtx: 'readOnlyRootFilesystem: true',
      },
    )
    assert.deepEqual([image, command], ['mirror/helper:2', ['/wait']])
    assert.deepEqual(resources, {
      requests: { cpu: '10m', memory: '128Mi' },
      limits: { cpu: '100m', memory: '64Mi' },
    })
    assert.deepEqual(securityContext, {
      runAsUser: 7,
      runAsGroup: 8,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
    })
  })

  it('runs as who can read the restored files: the first container, else the pod', () => {
    const first = { runAsUser: 5 }
    assert.deepEqual(waiting({ containers: [{ securityContext: first }] }).securityContext, first)
    const ofPod = waiting({ securityContext: { runAsUser: 999, runAsGroup: 998 } }).securityContext
    assert.deepEqual([ofPod?.runAsUser, ofPod?.runAsGroup, ofPod?.runAsNonRoot], [999, 998, true])
    const root = waiting({ securityContext: { runAsUser: 0 } }).securityContext
    assert.deepEqual([root?.runAsUser, root?.runAsNonRoot], [0, undefined])
  })
})

describe('The container that waits in a Windows pod', () => {
  const windows: [title: string, pod: WaitFacts['pod']][] = [
    ['names its system', { os: { name: 'windows' } }],
    ['is sent to Windows nodes', { nodeSelector: { 'kubernetes.io/os': 'windows' } }],
  ]
  for (const [title, pod] of windows) {
    it(`has nothing that Windows does not know, when the pod ${title}`, () => {
      const config = { secCtxRunAsUser: '7', secCtx: 'capabilities: {drop: [ALL]}', cpuLimit: '200m' }
      const { securityContext, resources } = waiting({ ...pod, securityContext: { runAsUser: 1 } }, config)
      assert.equal(securityContext, undefined)
      assert.equal(resources.limits.cpu, '200m')
    })
  }

  it('runs as the first container does', () => {
    const windowsOptions = { runAsUserName: 'ContainerUser' }
    const securityContext = { windowsOptions, runAsNonRoot: true }
    const { securityContext: found } = waiting({ os: { name: 'windows' }, containers: [{ securityContext }] })
    assert.deepEqual(found, { windowsOptions })
  })

  it('runs as the ConfigMap says, where it says something for Windows', () => {
    const config = { secCtx: 'windowsOptions: {runAsUserName: ContainerAdministrator}\nrunAsUser: 3' }
    assert.deepEqual(waiting({ os: { name: 'windows' } }, config).securityContext, {
      windowsOptions: { runAsUserName: 'ContainerAdministrator' },
    })
  })

  it('is a Linux one in a Linux pod, whatever its selector', () => {
    const pod = { os: { name: 'linux' }, nodeSelector: { 'kubernetes.io/os': 'windows' } }
    assert.equal(waiting(pod).securityContext?.runAsNonRoot, true)
  })
})

describe('Where nobody restores files', () => {
  const init = (...names: string[]) => names.map(name => ({ name }))
  const restored = async (initContainers: object[], volumes?: object[] | null) => {
    const spec = { initContainers, ...(volumes !== undefined && { volumes }) }
    const item = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec }
    const restore = { metadata: {}, spec: {} } as unknown as Restore
    const result = await noPodVolumeWaitAction.execute({ item, itemFromBackup: item, restore })
    return (result.item as unknown as { spec: object }).spec
  }

  it('a pod does not wait for what an earlier restore has brought', async () => {
    assert.deepEqual(await restored(init('restore-wait', 'own', 'restic-wait')), {
      initContainers: init('own'),
    })
    assert.deepEqual(await restored(init('restore-wait')), {})
    assert.deepEqual(await restored(init('restore-wait'), null), {})
    const data = { name: 'data', emptyDir: {} }
    const state = { name: 'restore-wait-state', emptyDir: {} }
    assert.deepEqual(await restored(init('restore-wait'), [data, state]), { volumes: [data] })
    const own = { name: 'restore-wait-state', configMap: { name: 'own' } }
    assert.deepEqual(await restored([], [own]), { volumes: [own] })
  })
})
