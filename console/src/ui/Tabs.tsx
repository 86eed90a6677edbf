import type { ReactNode } from 'react'
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from 'react-aria-components'

/** The look of a tab; links between sub-pages wear it too. */
export const tabListClass = 'flex gap-5.5 overflow-x-auto overflow-y-hidden border-b border-line'
export const tabClass =
  'shrink-0 cursor-pointer border-b-2 border-transparent py-2 whitespace-nowrap text-ink-2 transition-colors outline-offset-[-2px]! hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink data-selected:border-accent data-selected:font-medium data-selected:text-ink data-disabled:cursor-default data-disabled:text-ink-3 aria-disabled:cursor-default aria-disabled:text-ink-3 aria-disabled:hover:text-ink-3'

type Props = {
  label: string
  tabs: readonly { id: string; label: string; content: ReactNode; isDisabled?: boolean }[]
}

/** Views of one thing on one page. */
export function Tabs({ label, tabs }: Props) {
  return (
    <AriaTabs>
      <TabList aria-label={label} className={tabListClass}>
        {tabs.map((tab) => (
          <Tab key={tab.id} id={tab.id} isDisabled={tab.isDisabled ?? false} className={tabClass}>
            {tab.label}
          </Tab>
        ))}
      </TabList>
      {tabs.map((tab) => (
        <TabPanel key={tab.id} id={tab.id} className="pt-4 outline-offset-4">
          {tab.content}
        </TabPanel>
      ))}
    </AriaTabs>
  )
}
