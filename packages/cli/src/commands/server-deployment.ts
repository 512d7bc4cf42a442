import { builtInKind, type KubeObject } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import type { Place } from './object-client.ts'

/** A container of a pod, as far as plugins are concerned. */
export interface Container {
  readonly name: string
  readonly image?: string
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[]
}

/** The Deployment of the server, as far as plugins are concerned. */
export interface ServerDeployment extends KubeObject {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly initContainers?: readonly Container[]
        readonly containers: readonly Container[]
        readonly volumes?: readonly { readonly name: string }[]
      }
    }
  }
}

/** The kind of that Deployment. */
export const DeploymentKind = builtInKind<ServerDeployment>('Deployment')

/** The container that runs the server. */
export const serverContainer = 'velero'

/** Finds the Deployment of the server as Velero does: by its label and its container. Throws a CliError without one. */
export async function serverDeployment({ client, namespace, signal }: Place): Promise<ServerDeployment> {
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
