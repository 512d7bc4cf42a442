/** For a type, as `resource.group`: the versions that the user prefers, the best first. */
export type VersionPriorities = ReadonlyMap<string, readonly string[]>

/** What a text says, and the lines that say nothing. */
export interface ReadVersionPriorities {
  priorities: VersionPriorities
  ignored: readonly string[]
}

/**
 * Reads the entry `restoreResourcesVersionPriority` of the ConfigMap `enableapigroupversions`: lines of
 * `rockbands.music.example.io=v2beta1,v2beta2`. Spaces do not matter.
 */
export function parseVersionPriorities(text: string): ReadVersionPriorities {
  const priorities = new Map<string, readonly string[]>()
  const ignored: string[] = []
  for (const line of text.split('\n').map(each => each.replaceAll(/\s/g, ''))) {
    if (line === '') continue
    const [, type, versions] = /^([^=]+)=([^=]+)$/.exec(line) ?? []
    if (type === undefined || versions === undefined) ignored.push(line)
    else priorities.set(type, versions.split(','))
  }
  return { priorities, ignored }
}
