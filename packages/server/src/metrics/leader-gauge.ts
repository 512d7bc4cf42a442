const NAME = 'lateen_leader'

/** Whether this server is the one that works, as `lateen_leader`, in Prometheus' text format. */
export function renderLeader(isLeading: boolean): string {
  const help = `# HELP ${NAME} 1 on the server that works, 0 on those that stand by`
  return [help, `# TYPE ${NAME} gauge`, `${NAME} ${isLeading ? 1 : 0}`, ''].join('\n')
}
