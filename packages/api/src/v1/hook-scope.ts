import { labelSelector } from '../label-selector.ts'
import { nullable, required, string, strings } from '../schema/build.ts'

/** The fields that say which pods a hook is for; the same for backup and restore hooks. */
export const hookScope = {
  name: required(string('Name of the hook, for logs.')),
  includedNamespaces: nullable(strings('Namespaces the hook is for; empty means all.')),
  excludedNamespaces: nullable(strings('Namespaces the hook is not for.')),
  includedResources: nullable(strings('Resources the hook is for; only pods have hooks.')),
  excludedResources: nullable(strings('Resources the hook is not for.')),
  labelSelector: nullable(labelSelector('Labels of the pods the hook is for.')),
}
