import { Plus, RotateCw, Settings, Trash2 } from 'lucide-react'
import { Button, type ButtonVariant } from '../src/ui/Button.tsx'
import { IconButton } from '../src/ui/IconButton.tsx'
import { Logo } from '../src/ui/Logo.tsx'
import { Line, Section } from './Section.tsx'

const variants: ButtonVariant[] = ['primary', 'secondary', 'ghost', 'danger']
const neutralColors = ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8', 'n9', 'n10', 'n11', 'n12']
const semanticColors = ['accent', 'good', 'warn', 'bad', 'info']

/** Colours, logos, text sizes and buttons. */
export function Actions() {
  return (
    <>
      <Section title="Tokens">
        <Line>
          {neutralColors.map((token) => (
            <span key={token} className="text-xs text-ink-3">
              <span
                className="mb-1 block size-12 rounded-md border border-line"
                style={{ background: `var(--${token})` }}
              />
              {token}
            </span>
          ))}
        </Line>
        <Line>
          {semanticColors.map((token) => (
            <span key={token} className="text-xs text-ink-3">
              <span className="mb-1 flex overflow-hidden rounded-md">
                <span className="size-12" style={{ background: `var(--${token})` }} />
                <span className="size-12" style={{ background: `var(--${token}-soft)` }} />
              </span>
              {token}
            </span>
          ))}
          {[16, 22, 32, 64].map((size) => (
            <Logo key={size} size={size} className="text-accent" />
          ))}
        </Line>
        <div>
          <p className="text-2xl font-semibold tracking-tight">From manifest to GraphQL</p>
          <p className="text-xl font-semibold tracking-tight">Page title, 20 px</p>
          <p className="text-lg font-semibold">Dialog title, 16 px</p>
          <p className="text-md font-semibold">Card title, 14 px</p>
          <p>
            Text of 13.5 px. Numbers are tabular: <span className="tabular">1,234,567.89</span>
          </p>
          <p className="text-ink-2">Secondary text: context under a title.</p>
          <p className="text-xs text-ink-3">Tertiary text, 12 px: hints and headers.</p>
          <code>acme-labs.squids.example/erc20-transfers@fj0anc/api/graphql</code>
        </div>
      </Section>
      <Section title="Buttons">
        {([28, 32, 36] as const).map((size) => (
          <Line key={size}>
            {variants.map((variant) => (
              <Button key={variant} variant={variant} size={size}>
                Deploy squid
              </Button>
            ))}
            <IconButton label="Settings" size={size} icon={<Settings size={16} aria-hidden />} />
            <IconButton label="Refresh" size={size} variant="secondary" icon={<RotateCw size={16} aria-hidden />} />
          </Line>
        ))}
        <Line>
          {variants.map((variant) => (
            <Button key={variant} variant={variant} isPending>
              Deploy squid
            </Button>
          ))}
          <Button icon={<Plus size={14} aria-hidden />}>Add secret</Button>
          <Button variant="danger" icon={<Trash2 size={14} aria-hidden />}>
            Delete
          </Button>
        </Line>
        <Line>
          {variants.map((variant) => (
            <Button key={variant} variant={variant} disabledReason="Only administrators may change the organization.">
              Deploy squid
            </Button>
          ))}
        </Line>
      </Section>
    </>
  )
}
