import { MarkedText } from '../../components/MarkedText.tsx'
import { Card } from '../../ui/Card.tsx'
import { namedType, typeText, type SchemaField, type SchemaType } from './schema.ts'
import { TypeLink } from './TypeList.tsx'

/** One type: its description, and its fields or values. */
export function TypeCard({ type, search }: { type: SchemaType; search: string }) {
  const { name, description, fields, values } = type
  return (
    <Card title={<code>{name}</code>}>
      {description && <p className="border-b border-line px-3.5 py-2.5 text-ink-2">{description}</p>}
      <ul className="divide-y divide-line">
        {fields.map((field) => (
          <Field key={field.name} field={field} search={search} />
        ))}
        {values.map((value) => (
          <li key={value.name} className="px-3.5 py-2">
            <code>
              <MarkedText text={value.name} search={search} />
            </code>
            <Description text={value.description} />
          </li>
        ))}
      </ul>
      {fields.length + values.length === 0 && <p className="px-3.5 py-2.5 text-ink-3">A value without fields.</p>}
    </Card>
  )
}

function Field({ field: { name, description, type, args }, search }: { field: SchemaField; search: string }) {
  return (
    <li className="px-3.5 py-2">
      <code className="wrap-anywhere">
        <MarkedText text={name} search={search} />: <TypeName type={type} />
      </code>
      <Description text={description} />
      {args.length > 0 && (
        <ul aria-label={`Arguments of ${name}`} className="mt-1 text-sm text-ink-2">
          {args.map((argument) => (
            <li key={argument.name}>
              <code className="wrap-anywhere">
                <MarkedText text={argument.name} search={search} />: <TypeName type={argument.type} />
              </code>
            </li>
          ))}
        </ul>
      )}
    </li>
  )
}

const Description = ({ text }: { text: string | null }) => (text ? <p className="text-sm text-ink-2">{text}</p> : null)

/** The notation of a type, such as `[Transfer!]!`, as a link to the type. */
function TypeName({ type }: { type: SchemaField['type'] }) {
  return (
    <TypeLink name={namedType(type).name ?? ''} className="text-accent hover:underline">
      {typeText(type)}
    </TypeLink>
  )
}
