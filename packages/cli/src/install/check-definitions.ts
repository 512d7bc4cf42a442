import { allKinds, type CustomResourceDefinition } from '@lateen/api'
import { unlessNotFound } from '@lateen/kube'
import { CliError } from '../cli-error.ts'
import { definitionFit, hasValueAt } from './definition-fit.ts'
import type { InstallPorts } from './install-ports.ts'
import { DefinitionKind } from './stored-definition.ts'

/** Which definitions to apply, and what to tell about the others. */
export interface CheckedDefinitions {
  readonly definitions: readonly CustomResourceDefinition[]
  readonly warnings: readonly string[]
}

/**
 * Looks at the definitions that the cluster has. Throws a CliError (`REFUSED`), before anything is changed, where ours would
 * make stored objects or fields of them unreadable.
 */
export async function checkDefinitions(
  definitions: readonly CustomResourceDefinition[],
  ports: InstallPorts,
): Promise<CheckedDefinitions> {
  const stored = ports.client.resource(DefinitionKind)
  const chosen: CustomResourceDefinition[] = []
  const warnings: string[] = []
  for (const definition of definitions) {
    const { name } = definition.metadata
    const found = await stored.get(name, { signal: ports.signal }).catch(unlessNotFound)
    const fit = found === undefined ? ({ act: 'apply' } as const) : definitionFit(definition, found)
    if (fit.act === 'refuse') throw refused(name, fit.reason)
    if (fit.act === 'apply-unless-used') await requireUnused(name, fit.fields, ports)
    if (fit.act === 'leave') {
      warnings.push(
        `Warning: CustomResourceDefinition/${name} comes from a newer version and stays as it is. It has fields that this program does not know: ${some(fit.fields)}`,
      )
    } else {
      chosen.push(definition)
    }
  }
  return { definitions: chosen, warnings }
}

async function requireUnused(name: string, fields: readonly string[], ports: InstallPorts): Promise<void> {
  const kind = allKinds.find(({ plural, group }) => `${plural}.${group}` === name)
  if (kind === undefined) return
  for await (const object of ports.client.resource(kind).list({ signal: ports.signal })) {
    const used = fields.find(field => hasValueAt(object, field))
    if (used === undefined) continue
    const { namespace, name: which } = object.metadata
    throw refused(
      name,
      `it has the field ${used}, which this program does not know and ${kind.kind} ${namespace}/${which} uses: it would be lost`,
    )
  }
}

function refused(name: string, reason: string): CliError {
  return new CliError('REFUSED', `CustomResourceDefinition ${name} cannot be replaced: ${reason}`, {
    hint: reason.includes('being deleted')
      ? 'wait until it is gone and run the command again'
      : `install a version that knows it, or look at 'kubectl get crd ${name} -o yaml'; nothing was changed`,
  })
}

function some(fields: readonly string[]): string {
  const shown = fields.slice(0, 5).join(', ')
  return fields.length > 5 ? `${shown} and ${fields.length - 5} more` : shown
}
