/** One image that a Dockerfile makes. */
export interface DockerStage {
  /** What follows `FROM`. */
  from: string
  instructions: { name: string; text: string }[]
}

/** The stages of a Dockerfile. Knows comments and continued lines, and no heredocs. Throws for an instruction before the first `FROM`. */
export function parseDockerfile(text: string): DockerStage[] {
  const stages: DockerStage[] = []
  const lines = text
    .replaceAll(/^\s*#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  for (const line of lines) {
    const [, name = '', rest = ''] = /^(\w+)\s+(.*?)\s*$/.exec(line) ?? []
    if (name === '') continue
    if (name.toUpperCase() === 'FROM') stages.push({ from: rest, instructions: [] })
    else if (stages.length === 0) throw new Error(`${name} stands before FROM`)
    else stages.at(-1)?.instructions.push({ name: name.toUpperCase(), text: rest })
  }
  return stages
}
