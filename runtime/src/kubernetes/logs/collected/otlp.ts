/** A line of a file. `offset`: the offset of its first byte in the file. `readAtMs`: when the collector read the line; null if unknown. */
export type OtlpLine = { path: string; offset: number; text: string; readAtMs: number | null }

type Value = { stringValue?: unknown; intValue?: unknown }
type Attribute = { key?: unknown; value?: Value }
type LogRecord = { body?: Value; attributes?: Attribute[]; observedTimeUnixNano?: unknown }
type ExportRequest = { resourceLogs?: { scopeLogs?: { logRecords?: LogRecord[] }[] }[] }

/**
 * Reads the lines of an OTLP request in JSON, as the collector's `filelog` receiver sends them with `include_file_path` and
 * `include_file_record_offset`. Skips records without these attributes. @throws SyntaxError, TypeError
 */
export function parseOtlp(json: string): OtlpLine[] {
  const { resourceLogs = [] } = JSON.parse(json) as ExportRequest
  const records = resourceLogs.flatMap(({ scopeLogs = [] }) => scopeLogs.flatMap(({ logRecords = [] }) => logRecords))
  return records.flatMap(({ body, attributes = [], observedTimeUnixNano }) => {
    const valueOf = (name: string) => attributes.find(({ key }) => key === name)?.value
    const path = valueOf('log.file.path')?.stringValue
    const offset = Number(valueOf('log.file.record_offset')?.intValue ?? Number.NaN)
    const text = body?.stringValue ?? ''
    return typeof path === 'string' && typeof text === 'string' && Number.isSafeInteger(offset)
      ? [{ path, offset, text, readAtMs: Number(observedTimeUnixNano) / 1e6 || null }]
      : []
  })
}
