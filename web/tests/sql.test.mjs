import assert from "node:assert/strict";
import { test } from "node:test";

import { sqlLines, sqlTokens } from "../node_modules/.tests/units.js";

const shown = (text) =>
  sqlLines(text)
    .map((line) => line.map((piece) => piece.text).join(""))
    .join("\n");
const withoutBlanks = (text) =>
  sqlTokens(text)
    .filter((token) => token.kind !== "blank")
    .map((token) => token.text);

test("each part of a query has its line, and what is inside one is set in", () => {
  assert.equal(
    shown(
      "with late as (select * from orders where due < now() and not paid) select c.name, count(*) from late l left join customers c on c.id = l.customer where l.total between 1 and 9 or c.vip group by c.name order by 2 desc limit 5",
    ),
    [
      "with late as (",
      "  select *",
      "  from orders",
      "  where due < now()",
      "    and not paid",
      ")",
      "select c.name, count(*)",
      "from late l",
      "left join customers c on c.id = l.customer",
      "where l.total between 1 and 9",
      "  or c.vip",
      "group by c.name",
      "order by 2 desc",
      "limit 5",
    ].join("\n"),
  );
});

test("words that only look like a part stay where they are", () => {
  const one = "select extract(year from at), left(name, 2), sum(x) over (partition by a order by b), case when a and b then 1 end";
  assert.equal(shown(one), one);
  assert.equal(shown("select a from t where b is distinct from c for update"), "select a\nfrom t\nwhere b is distinct from c for update");
});

test("changes are told apart from their conditions", () => {
  assert.equal(
    shown("update accounts set balance = 0, note = 'from  where' where id = 7 and open returning id"),
    "update accounts\nset balance = 0, note = 'from  where'\nwhere id = 7\n  and open\nreturning id",
  );
  assert.equal(shown("delete from orders where id in (select id from old)"), "delete from orders\nwhere id in (\n  select id\n  from old\n)");
  assert.equal(
    shown("insert into t (a) values (1) on conflict (a) do update set a = 2"),
    "insert into t (a)\nvalues (1)\non conflict (a) do update\nset a = 2",
  );
});

test("nothing but blanks changes, and none within quotes and comments", () => {
  for (const text of [
    "select 'it''s  -- not\n  a comment', \"a  b\", `c  d` -- one\nfrom t /* two\n  lines */ where a=1and b>$1;drop table x",
    "select 'never  closed from t where",
    "select $q$ a  from b $q$ from c",
    "select(1)from(select 2)union all select\t3",
    "merge into t using s on t.a=s.a when matched then update set b=1 when not matched then insert (a) values (1)",
    "select \u00fcber, na\u00efve from stra\u00dfe where \ud83d\ude00",
    ")))) from (((",
  ])
    assert.deepEqual(withoutBlanks(shown(text)), withoutBlanks(text));
});

test("a comment to the end of its line takes nothing of the next one in", () => {
  assert.equal(shown("select 1 -- where id = 7\n, 2 from t"), "select 1 -- where id = 7\n, 2\nfrom t");
});
