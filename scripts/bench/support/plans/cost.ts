/** The relevant parts of a node of EXPLAIN's JSON. Rows are averages over the node's loops. */
export type PlanNode = {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows'?: number
  'Actual Loops'?: number
  'Rows Removed by Filter'?: number
  'Rows Removed by Index Recheck'?: number
  'Shared Hit Blocks'?: number
  'Shared Read Blocks'?: number
  Operation?: string
  Plans?: PlanNode[]
}

export type PlanCost = {
  /** Number of rows of tables that the statement read, including those it discarded. */
  read: number
  /** Number of rows that the statement returned or changed. */
  returned: number
  /** Number of rows that the statement aggregated; 0 without an aggregate. */
  aggregated: number
  /** Number of pages of 8 KB that the statement read, from memory or disk. */
  pages: number
  /** Names of the tables of which the statement read every row, except small tables. */
  scanned: string[]
}

/** A statement may read this many rows for each row that it returns (it may join tables), plus the rows of a small table. */
const readPerReturned = 10
const smallTableRows = 200

const tableScans = ['Seq Scan', 'Index Scan', 'Index Only Scan', 'Bitmap Heap Scan', 'Tid Scan', 'Tid Range Scan']
const aggregateNodes = ['Aggregate', 'WindowAgg', 'Group']

/** Returns the maximum number of rows that a statement may read. `mayAggregate`: the rows that it aggregates count as returned. */
export const maxReadOf = ({ returned, aggregated }: PlanCost, mayAggregate: boolean): number =>
  readPerReturned * Math.max(returned, mayAggregate ? aggregated : 0) + smallTableRows

/** Computes the cost of a statement from its plan. */
export function costOf(plan: PlanNode): PlanCost {
  const nodes = [...withChildren(plan)]
  const scans = nodes.filter((node) => tableScans.includes(node['Node Type']))
  const read = sum(scans.map(readBy))
  const returned = Math.max(rowsOf(plan), ...consumedBy(nodes, ['ModifyTable']))
  const fullScans = scans.filter((node) => node['Node Type'] === 'Seq Scan' && readBy(node) > smallTableRows)
  return {
    read: Math.round(read),
    returned: Math.round(returned),
    aggregated: Math.round(Math.max(0, ...consumedBy(nodes, aggregateNodes))),
    pages: (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0),
    scanned: [...new Set(fullScans.map((node) => (node['Relation Name'] ?? '').replace(/_\d{8}$/, '')))],
  }
}

/** Returns the total number of rows that a node produced. */
const rowsOf = (node: PlanNode) => (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0)

function readBy(node: PlanNode): number {
  const discarded = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return ((node['Actual Rows'] ?? 0) + discarded) * (node['Actual Loops'] ?? 0)
}

/** Returns the numbers of rows that nodes of these types write or aggregate. */
const consumedBy = (nodes: PlanNode[], types: string[]): number[] =>
  nodes.filter((node) => types.includes(node['Node Type'])).flatMap((node) => (node.Plans ?? []).map(rowsOf))

function* withChildren(node: PlanNode): Generator<PlanNode> {
  yield node
  for (const child of node.Plans ?? []) yield* withChildren(child)
}

const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)
