import { restoreWaitNames } from '@lateen/api'
import { parse } from 'yaml'
import { RestoreActionError } from './restore-action-error.ts'

/** What is read of a container's. */
interface SecurityContext {
  windowsOptions?: object
  runAsUser?: number
}

/** What the container is made from. */
export interface WaitFacts {
  readonly pod: {
    readonly containers?: readonly { securityContext?: SecurityContext }[]
    readonly securityContext?: { runAsUser?: number; runAsGroup?: number; runAsNonRoot?: boolean }
    readonly os?: { name?: string }
    readonly nodeSelector?: Readonly<Record<string, string>>
  }
  readonly volumes: readonly string[]
  readonly restoreUid: string
  /** The server's; undefined when that is not known. */
  readonly image: string | undefined
  /** Of the action. */
  readonly config: ReadonlyMap<string, string>
}

const usualCpu = '100m'
const usualMemory = '128Mi'

/** Has what the container must still know when it runs again, as after a restart of the node. It lives as long as the pod. */
export const waitStateVolume = { name: restoreWaitNames.stateVolume, emptyDir: {} }

/** The init container that ends when all volumes are restored. It goes with `waitStateVolume`. Throws `IMAGE_UNKNOWN`. */
export function waitContainer(facts: WaitFacts): object {
  const { volumes, restoreUid, config, pod } = facts
  const field = (name: string, fieldPath: string) => ({ name, valueFrom: { fieldRef: { fieldPath } } })
  const quantity = (key: string, usual: string) => config.get(key) || usual
  return {
    name: restoreWaitNames.container,
    image: imageOf(facts),
    command: [config.get('command') || '/velero-restore-helper'],
    args: [restoreUid],
    env: [field('POD_NAMESPACE', 'metadata.namespace'), field('POD_NAME', 'metadata.name')],
    resources: {
      requests: { cpu: quantity('cpuRequest', usualCpu), memory: quantity('memRequest', usualMemory) },
      limits: { cpu: quantity('cpuLimit', usualCpu), memory: quantity('memLimit', usualMemory) },
    },
    volumeMounts: [
      ...volumes.map(name => ({ name, mountPath: `/restores/${name}` })),
      { name: waitStateVolume.name, mountPath: '/restore-state' },
    ],
    ...(isWindows(pod) ? windowsSecurityOf(facts) : { securityContext: securityOf(facts) }),
  }
}

/** Pods rarely name their system; a node selector tells as well. */
function isWindows({ os, nodeSelector }: WaitFacts['pod']): boolean {
  return (os?.name ?? nodeSelector?.['kubernetes.io/os']) === 'windows'
}

/** What a Linux container may do means nothing to a Windows one; who it runs as does, and must be the same for all of a pod that is part of its host. */
function windowsSecurityOf({ pod, config }: WaitFacts): { securityContext?: object } {
  const { windowsOptions = pod.containers?.[0]?.securityContext?.windowsOptions } = (chosenSecurity(config) ??
    {}) as SecurityContext
  return windowsOptions === undefined ? {} : { securityContext: { windowsOptions } }
}

function imageOf({ image, config }: WaitFacts): string {
  const wanted = config.get('image') ?? ''
  // A name without a registry would be looked for in one that nobody chose.
  if (wanted.includes('/')) return wanted
  if (image !== undefined) return image
  throw new RestoreActionError(
    'IMAGE_UNKNOWN',
    'the image of the container that waits for restored volumes is not known',
    {
      hint: 'there is no Deployment velero to take it from: name it in the ConfigMap of velero.io/pod-volume-restore',
    },
  )
}

/** By the ConfigMap, else as the first container's, else as the pod's, else the least that works. */
function securityOf({ pod, config }: WaitFacts): object {
  const chosen = chosenSecurity(config)
  if (chosen !== undefined) return chosen
  const first = pod.containers?.[0]?.securityContext
  if (first !== undefined) return first
  const restricted = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'] },
    seccompProfile: { type: 'RuntimeDefault' },
    runAsUser: 1000,
    runAsNonRoot: true,
  }
  const { runAsUser, runAsGroup, runAsNonRoot } = pod.securityContext ?? {}
  if (runAsUser === undefined && runAsGroup === undefined) return restricted
  const { runAsNonRoot: _, ...withoutRule } = restricted
  return {
    ...(runAsUser === 0
      ? { ...withoutRule, ...(runAsNonRoot !== undefined && { runAsNonRoot }) }
      : restricted),
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
  }
}

function chosenSecurity(config: ReadonlyMap<string, string>): object | undefined {
  const user = whole(config.get('secCtxRunAsUser'))
  const group = whole(config.get('secCtxRunAsGroup'))
  const escalation = /^(true|false)$/.exec(config.get('secCtxAllowPrivilegeEscalation') ?? '')?.[0]
  const more = objectIn(config.get('secCtx'))
  if (user === undefined && group === undefined && escalation === undefined && more === undefined)
    return undefined
  return {
    ...(user !== undefined && { runAsUser: user }),
    ...(group !== undefined && { runAsGroup: group }),
    ...(escalation !== undefined && { allowPrivilegeEscalation: escalation === 'true' }),
    ...more,
  }
}

function whole(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) : undefined
}

function objectIn(text: string | undefined): object | undefined {
  if (!text) return undefined
  try {
    const value: unknown = parse(text, { maxAliasCount: 10 })
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
