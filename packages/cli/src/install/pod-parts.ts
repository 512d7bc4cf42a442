/** Where the image keeps the program, under the name that Velero's image has for its own: only the image tells them apart. */
export const programInImage = '/velero'

/** The user of the program in the image. */
export const imageUser = 65_532

/** A folder that can be written to, where the rest of the file system cannot. */
export const temporaryParts = {
  volume: { name: 'tmp', emptyDir: {} },
  mount: { name: 'tmp', mountPath: '/tmp' },
  env: [
    { name: 'HOME', value: '/tmp' },
    { name: 'TMPDIR', value: '/tmp' },
  ],
} as const

/** System calls that no ordinary program makes are refused. */
export const seccompDefault = { seccompProfile: { type: 'RuntimeDefault' } } as const

/** A container that can do nothing to its node, nor to its own image. */
export const confined = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
} as const

/** Images with a fixed tag are pulled once, others every time. */
export function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  const tag = /:([^:/]+)$/.exec(image)?.[1]
  return image.includes('@') || (tag !== undefined && tag !== 'latest') ? 'IfNotPresent' : 'Always'
}

export const metricsPorts = [{ name: 'metrics', containerPort: 8085 }] as const

/** Keeps pods off, or on, Windows nodes. */
export function windowsAffinity(operator: 'In' | 'NotIn'): object {
  const term = { matchExpressions: [{ key: 'kubernetes.io/os', operator, values: ['windows'] }] }
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } } }
}

/** An environment variable from a field of the pod. */
export function fromField(name: string, fieldPath: string): object {
  return { name, valueFrom: { fieldRef: { fieldPath } } }
}

/** How the Secret of credentials reaches a container; empty lists without one. */
export function credentialParts(present: boolean): { volumes: object[]; mounts: object[]; env: object[] } {
  if (!present) return { volumes: [], mounts: [], env: [] }
  const providers = ['GOOGLE_APPLICATION', 'AWS_SHARED', 'AZURE', 'ALIBABA_CLOUD']
  return {
    volumes: [{ name: 'cloud-credentials', secret: { secretName: 'cloud-credentials', defaultMode: 0o444 } }],
    mounts: [{ name: 'cloud-credentials', mountPath: '/credentials' }],
    env: providers.map(provider => ({
      name: provider === 'GOOGLE_APPLICATION' ? `${provider}_CREDENTIALS` : `${provider}_CREDENTIALS_FILE`,
      value: '/credentials/cloud',
    })),
  }
}
