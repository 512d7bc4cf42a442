import { builtInKind, isConflict, type KubeObject } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Place } from './object-client.ts'

/** A container of a pod, as far as plugins are concerned. */
export interface Container {
  readonly name: string
  readonly image?: string
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

/** What is in the server's pods, as far as plugins are concerned. */
export interface ServerPod {
  readonly initContainers?: readonly Container[]
  readonly containers: readonly Container[]
  readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object }[]
}

/** The Deployment of the server, as far as plugins are concerned. */
export interface ServerDeployment extends KubeObject {
  readonly spec: { readonly template: { readonly spec: ServerPod } }
}

const DeploymentKind = builtInKind<ServerDeployment>('Deployment')

/** The container that runs the server. */
export const serverContainer = 'velero'

const ATTEMPTS = 10

/**
 * Changes the pods of the server and returns the name of its Deployment. A merge patch replaces lists whole, so that it is bound to the version
 * that `change` has seen. Others write to the Deployment too, its controller among them: then it is read again, and `change` decides anew. Throws
 * what that throws, and a CliError without a Deployment.
 */
export async function changeServer(
  place: Place,
  change: (deployment: ServerDeployment) => Partial<ServerPod>,
): Promise<string> {
  const { client, namespace, signal } = place
  for (let attempt = 1; ; attempt++) {
    const deployment = await serverDeployment(place)
    const { name = '', resourceVersion } = deployment.metadata
    const body = { metadata: { resourceVersion }, spec: { template: { spec: change(deployment) } } }
    try {
      await client.resource(DeploymentKind, namespace).patch(name, { type: 'merge', body }, { signal })
      return name
    } catch (error) {
      if (!isConflict(error) || attempt >= ATTEMPTS) throw error
    }
  }
}

/** Finds the Deployment of the server as Velero does: by its label and its container. Throws a CliError without one. */
async function serverDeployment({ client, namespace, signal }: Place): Promise<ServerDeployment> {
  const labelled = client
    .resource(DeploymentKind, namespace)
    .list({ labelSelector: 'component=velero', signal })
  for await (const deployment of labelled) {
    if (deployment.spec.template.spec.containers.some(({ name }) => name === serverContainer))
      return deployment
  }
  throw new CliError('NOT_FOUND', `namespace ${namespace} has no Deployment of a server`, {
    hint: "install one with 'lateen install', or name another namespace with --namespace",
  })
}
