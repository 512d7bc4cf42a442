import type { RestoreHooks, RestoreSpec } from '@lateen/api'
import { patternProblem, selectorProblem } from './validate-restore.ts'

/** What is wrong with the hooks of a spec, beyond its schema. */
export function hookErrors({ hooks }: RestoreSpec): string[] {
  const resources = hooks?.resources ?? []
  return [...resources.flatMap(scopeErrors), ...resources.flatMap(containerErrors)]
}

function scopeErrors(hook: RestoreHooks): string[] {
  const patterns = [...(hook.includedNamespaces ?? []), ...(hook.excludedNamespaces ?? [])]
  return [
    ...(hook.labelSelector ? selectorProblem(hook.labelSelector) : []),
    ...patterns.flatMap(patternProblem),
  ].map(problem => `invalid restore hooks: ${problem} (in ${JSON.stringify(hook.name)})`)
}

function containerErrors({ name, postHooks }: RestoreHooks): string[] {
  return (postHooks ?? [])
    .flatMap(({ init }) => init?.initContainers ?? [])
    .flatMap(containerProblem)
    .map(problem => `invalid init container in restore hook ${JSON.stringify(name)}: ${problem}`)
}

interface ClaimedContainer {
  name?: unknown
  image?: unknown
  command?: unknown
}

/** Containers of hooks are kept as they are written: their schema says nothing about them. */
function containerProblem(container: unknown): string[] {
  if (typeof container !== 'object' || container === null) return ['it is no container']
  const { name, image, command }: ClaimedContainer = container
  const misshapen = [
    ...(isTextOrAbsent(name) ? [] : ['name must be a text']),
    ...(isTextOrAbsent(image) ? [] : ['image must be a text']),
    ...(isListOfTexts(command ?? []) ? [] : ['command must be a list of texts']),
  ]
  if (misshapen.length > 0) return misshapen
  if (name && image && Array.isArray(command) && command.length > 0) return []
  return ["invalid InitContainer in restore hook, it doesn't have Command, Name or Image field"]
}

function isTextOrAbsent(value: unknown): boolean {
  return value === undefined || typeof value === 'string'
}

function isListOfTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every(each => typeof each === 'string')
}
