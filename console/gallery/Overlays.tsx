import { useRef, useState } from 'react'
import { confirm } from '../src/components/confirm.ts'
import { Button } from '../src/ui/Button.tsx'
import { CommandList } from '../src/ui/CommandList.tsx'
import { Dialog, Sheet } from '../src/ui/Dialog.tsx'
import { MenuButton } from '../src/components/MenuButton.tsx'
import { Popover } from '../src/ui/Popover.tsx'
import { TextField } from '../src/ui/TextField.tsx'
import { showToast, type ToastContents } from '../src/ui/ToastRegion.tsx'
import { Line, Section } from './Section.tsx'

type Open = 'dialog' | 'sheet' | 'popover' | 'commands' | null

const toasts: ToastContents[] = [
  { tone: 'good', title: 'Invitation accepted!', message: "You're now a part of the organization." },
  { tone: 'bad', title: 'Some unexpected error occurred!', message: 'Unknown API error. Please try alter' },
  { tone: 'warn', title: 'Unknown error' },
]

/** Buttons that open each kind of overlay. */
export function Overlays() {
  const [open, setOpen] = useState<Open>(null)
  const anchor = useRef<HTMLButtonElement>(null)
  const close = () => setOpen(null)
  return (
    <Section title="Overlays">
      <Line>
        <Button onClick={() => setOpen('dialog')}>Dialog</Button>
        <Button onClick={() => setOpen('sheet')}>Sheet</Button>
        <Button ref={anchor} onClick={() => setOpen('popover')}>
          Popover
        </Button>
        <Button onClick={() => setOpen('commands')}>Commands</Button>
        <MenuButton
          label="Organizations"
          placement="bottom start"
          groups={[
            {
              title: 'Organizations',
              actions: [
                { label: 'Acme Labs', run: () => {} },
                { label: 'Playground', run: () => {} },
              ],
            },
          ]}
          renderTrigger={(trigger) => <Button {...trigger}>Menu</Button>}
        />
        <Button
          variant="danger"
          onClick={() =>
            confirm({
              title: 'Delete erc20-transfers@fj0anc?',
              body: 'Its database and logs are lost. Other versions of the squid are kept.',
              confirmLabel: 'Delete',
              isDanger: true,
              typedName: 'erc20-transfers@fj0anc',
              action: () => Promise.reject(new Error('offline')),
            })
          }
        >
          Confirm by name
        </Button>
        {toasts.map((toast) => (
          <Button key={toast.tone} variant="ghost" onClick={() => showToast(toast)}>
            Toast: {toast.tone}
          </Button>
        ))}
      </Line>
      <Dialog
        title="Store key"
        isOpen={open === 'dialog'}
        onClose={close}
        footer={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button variant="primary" onClick={close}>
              Done
            </Button>
          </>
        }
      >
        <p className="mb-4">This key is shown only once. Store it in a safe place.</p>
        <TextField label="Name" />
      </Dialog>
      <Sheet label="Details" isOpen={open === 'sheet'} onClose={close}>
        <p className="p-5">The navigation on narrow screens.</p>
      </Sheet>
      <Popover
        label="Range"
        triggerRef={anchor}
        isOpen={open === 'popover'}
        onOpenChange={(isOpen) => setOpen(isOpen ? 'popover' : null)}
      >
        A few settings.
      </Popover>
      {open === 'commands' && (
        <CommandList
          label="Jump to a squid, page or action"
          onClose={close}
          groupsFor={() => [
            {
              title: 'Squids',
              isMono: true,
              actions: [{ label: 'erc20-transfers@fj0anc', run: () => {} }],
            },
            {
              title: 'Pages',
              actions: [
                { label: 'Monitoring', keys: 'g m', run: () => {} },
                { label: 'Secrets', keys: 'g e', run: () => {} },
              ],
            },
          ]}
        />
      )}
    </Section>
  )
}
