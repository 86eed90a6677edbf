/** An object of a database: the statements that create it. `name` identifies it among those of its kind. */
export type Definition = { kind: string; name: string; sql: string }

/** The objects of a database, in the phases in which a copy creates them. */
export type Definitions = { beforeRows: Definition[]; afterRows: Definition[]; access: Definition[] }
