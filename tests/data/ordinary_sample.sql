-- Ordinary queries, taken as they are from the tests of sqlglot 30.30.0; `tests/data/ordinary_queries.py` fetches all of them.
-- Each line: dialect, tab, query.
--
-- MIT License
--
-- Copyright (c) 2026 Toby Mao
--
-- Permission is hereby granted, free of charge, to any person obtaining a copy
-- of this software and associated documentation files (the "Software"), to deal
-- in the Software without restriction, including without limitation the rights
-- to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
-- copies of the Software, and to permit persons to whom the Software is
-- furnished to do so, subject to the following conditions:
--
-- The above copyright notice and this permission notice shall be included in all
-- copies or substantial portions of the Software.
--
-- THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
-- IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
-- FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
-- AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
-- LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
-- OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
-- SOFTWARE.
bigquery	(SELECT 1 AS foo) FULL OUTER UNION ALL BY NAME (SELECT 2 AS foo, 3 AS bar)
bigquery	SELECT * FROM ML.PREDICT(MODEL mydataset.mymodel, (SELECT label, column1, column2 FROM mydataset.mytable))
bigquery	SELECT * FROM `my-project.my-dataset.my-table`
bigquery	SELECT * FROM pro-ject_id.c.d CROSS JOIN foo-bar
bigquery	SELECT 1 # arbitrary content,,, until end-of-line
bigquery	SELECT ARRAY<FLOAT64>[1, 2, 3]
bigquery	SELECT CAST('2020-05-11T11:15:05' AS TIMESTAMP)
bigquery	SELECT COALESCE(1, NULL) FROM foo
bigquery	SELECT DATETIME_DIFF(DATETIME '2021-02-01 00:00:00', DATETIME '2021-01-31 00:00:00', MONTH)
bigquery	SELECT DATE_DIFF(CAST('2023-05-01' AS DATE), CAST('2024-01-15' AS DATE), ISOWEEK)
bigquery	SELECT EXTRACT(ISOWEEK FROM CAST('2013-12-25' AS DATE))
bigquery	SELECT INSTR('foo@example.com', '@')
bigquery	SELECT LAST_VALUE(x IGNORE NULLS) OVER y AS x
bigquery	SELECT PARSE_TIMESTAMP('%m/%d/%Y %H:%M:%S', '04/05/2013 01:02:03')
bigquery	SELECT SEARCH(data_to_search, 'search_query', analyzer => 'PATTERN_ANALYZER')
bigquery	SELECT TIME(foo, 'America/Los_Angeles')
bigquery	SELECT TIME_ADD(CAST('09:05:03' AS TIME), INTERVAL '2' HOUR)
bigquery	SELECT _gen_series_value FROM UNNEST(GENERATE_ARRAY(1, 5)) AS _gen_series_value
bigquery	SELECT id, mnth AS a_mnth FROM t CROSS JOIN UNNEST(GENERATE_DATE_ARRAY(start_month, DATE_TRUNC(CURRENT_DATE, MONTH), INTERVAL '1' MONTH)) AS mnth
bigquery	SELECT x FROM UNNEST([STRUCT('x' AS x)])
clickhouse	SELECT "user id", some_id, 1 AS other_id, 2 AS "2 nd id" FROM t QUALIFY COUNT(*) OVER () > 1
clickhouse	SELECT * FROM (SELECT a FROM x UNION ALL SELECT a FROM y LIMIT 1) AS _l_0 ORDER BY a NULLS FIRST OFFSET 1
clickhouse	SELECT * FROM a UNION DISTINCT SELECT * FROM b
clickhouse	SELECT * FROM foo JOIN bar USING id, name
clickhouse	SELECT * FROM table LIMIT 1 BY a, b
clickhouse	SELECT 1 AS x LIMIT 2 OFFSET 1
clickhouse	SELECT CAST('2020-01-01' AS Nullable(DateTime)) + INTERVAL '500' MICROSECOND
clickhouse	SELECT DATE_BIN(toDateTime('2023-01-01 14:45:00'), INTERVAL '1' MINUTE, toDateTime('2023-01-01 14:35:30'), 'UTC')
clickhouse	SELECT JSONExtractString(j, 'a')
clickhouse	SELECT SUBSTRING_INDEX('a.b.c.d', '.', 2)
clickhouse	SELECT approx_top_sum(N)(column, weight) FROM t
clickhouse	SELECT arrayMap((a, b) -> a * b, [1, 2, 3], [10, 20, 30]) AS products
clickhouse	SELECT event_id FROM "analytics"."events_view"(final = 1)
clickhouse	SELECT groupBitAndIf(x, y) FROM t
clickhouse	SELECT json.a.:JSON.b.:Int64
clickhouse	SELECT maxMapIf(k, v, cond) FROM t
clickhouse	SELECT quantileExactInclusive(0.25)(number) AS x FROM numbers(5)
clickhouse	SELECT row_number() OVER (PARTITION BY column2 ORDER BY column3) FROM table
clickhouse	SELECT sumMapIfState(k, v, cond) FROM t
clickhouse	SELECT x BETWEEN 10 AND 2
databricks	(SELECT 1 UNION SELECT 2) CLUSTER BY y
databricks	SELECT * FROM EXPLODE(ARRAY(STRUCT('Alice', STRUCT(85, 90)), STRUCT('Bob', STRUCT(92, 88))))
databricks	SELECT * FROM my_table TIMESTAMP AS OF DATE_ADD(CURRENT_DATE, -1)
databricks	SELECT * FROM x LATERAL VIEW EXPLODE(a) j AS lista LATERAL VIEW EXPLODE(b) k AS listb LATERAL VIEW EXPLODE(c) l AS listc
databricks	SELECT APPROX_TOP_K_ACCUMULATE(col)
databricks	SELECT CAST('2008-12-25 15:30:00' AS TIMESTAMP)
databricks	SELECT CAST(DATEDIFF('2020-12-31', '2020-01-01') / 7 AS INT)
databricks	SELECT COLLECT_SET(sample_col) FROM sample_table
databricks	SELECT DATEDIFF(MONTH, 'start', 'end')
databricks	SELECT DATE_ADD('2020-01-01', 1)
databricks	SELECT DECODE(a, NULL, 'null')
databricks	SELECT FIRST(sample_col, TRUE)
databricks	SELECT LAST(sample_col) IGNORE NULLS
databricks	SELECT OVERLAY(ENCODE('Spark SQL', 'utf-8') PLACING ENCODE('_', 'utf-8') FROM 6)
databricks	SELECT STRUCT('Winnipeg' AS Manitoba, 'bar' AS foo) AS province_capital
databricks	SELECT TIMESTAMP_MICROS(x)
databricks	SELECT TRANSFORM(SPLIT('abc , dfg ', ','), x -> TRIM(x))
databricks	SELECT a FROM x LATERAL VIEW POSEXPLODE(y) t AS pos, a
databricks	SELECT c1:item[1].price FROM VALUES ('{ "item": [ { "model" : "basic", "price" : 6.12 }, { "model" : "medium", "price" : 9.24 } ] }') AS T(c1)
databricks	SELECT piv.Q1 FROM (SELECT * FROM (SELECT * FROM produce) PIVOT(SUM(sales) FOR quarter IN ('Q1' AS `'Q1'`, 'Q2' AS `'Q2'`))) AS piv
duckdb	((SELECT 1 UNION SELECT 2) INTERSECT SELECT 3 UNION SELECT 4) INTERSECT SELECT 5
duckdb	FROM (FROM t1 LEFT JOIN t2 USING (id) SELECT *)
duckdb	SELECT "_t0"."a" AS "a" FROM "c"."db"."x" AS "_t0" WHERE "_t0"."b" > 5
duckdb	SELECT "_t1"."a" AS "a" FROM "c"."db"."x" AS "_t1" WHERE EXISTS(SELECT 1 AS "_c0" FROM "c"."db"."y" AS "_t0" WHERE "_t0"."b" = "_t1"."b")
duckdb	SELECT "x"."a" AS "a" FROM "x" AS "x" WHERE COALESCE(0 <> 0, 1 <> 0)
duckdb	SELECT ((SELECT 0) UNION (SELECT 1) ORDER BY 1 OFFSET 1)
duckdb	SELECT (ROW_NUMBER() OVER (ORDER BY 1 NULLS FIRST) - 1) % 65536 FROM test
duckdb	SELECT (x, x + 1, y) FROM (SELECT 1 AS x, 'a' AS y)
duckdb	SELECT * FROM "t" AS "dual"
duckdb	SELECT * FROM ((SELECT 1) UNION (SELECT 2) UNION (SELECT 3))
duckdb	SELECT * FROM (RANGE(5) JOIN other ON 1 = 1)
duckdb	SELECT * FROM (SELECT * FROM x AS x) AS x, (SELECT * FROM y AS y2) AS y2
duckdb	SELECT * FROM (SELECT UNNEST(CAST([] AS STRUCT(x BIGINT)[]), max_depth => 2))
duckdb	SELECT * FROM (t1 CROSS JOIN t2)
duckdb	SELECT * FROM UNNEST(CAST(GENERATE_SERIES(CAST('2020-01-01' AS DATE), CAST('2020-02-01' AS DATE), INTERVAL '1' WEEK) AS DATE[]))
duckdb	SELECT * FROM c.db.a AS a LEFT JOIN (c.db.b AS b INNER JOIN c.db.c AS c ON c.id = b.id) ON b.id = a.id
duckdb	SELECT * FROM foo: c.db.tbl
duckdb	SELECT * FROM t LIMIT 10% OFFSET 1
duckdb	SELECT * FROM test FETCH FIRST 1 ROWS ONLY
duckdb	SELECT * FROM x AS x WHERE x = 1
duckdb	SELECT * FROM x JOIN z ON x.id = z.id
duckdb	SELECT * FROM x NATURAL JOIN z ON TRUE
duckdb	SELECT * FROM x WHERE EXISTS (SELECT RANK() OVER (ORDER BY SUM(y.b)) FROM y WHERE y.a = x.a)
duckdb	SELECT * FROM x WHERE x.a < (SELECT SUM(y.a) AS a FROM y WHERE y.a = x.a AND y.a = x.b AND y.b <> x.d)
duckdb	SELECT * FROM x WHERE y IN (SELECT 1 UNION SELECT 2)
duckdb	SELECT * WHERE INTERVAL x.is > 1
duckdb	SELECT 1 /* c1 */ + 2 /* c2 */ + 3 /* c3 */
duckdb	SELECT 1 AS numeric FROM test
duckdb	SELECT 1 FROM a LEFT OUTER JOIN b ON a.foo = b.bar
duckdb	SELECT 1 WHERE 'abc' ILIKE '%a%'
duckdb	SELECT 6 AS a, SUM(x.b) AS b FROM x AS x GROUP BY 1 ORDER BY a
duckdb	SELECT ARG_MAX(DISTINCT selected_col, filtered_col) FROM table
duckdb	SELECT ARRAY_AGG(col ORDER BY sort_col) FILTER(WHERE col IS NOT NULL)
duckdb	SELECT BIT_AND(int_value) FROM t
duckdb	SELECT CASE WHEN '.' IS NULL THEN NULL WHEN '.' = '' THEN ['127.0.0.1'] ELSE STR_SPLIT('127.0.0.1', '.') END
duckdb	SELECT CASE WHEN a < b THEN 1 WHEN a < c THEN 2 ELSE 3 END FROM test
duckdb	SELECT CASE a.b WHEN 1 THEN 1 ELSE 2 END
duckdb	SELECT CAST('2012-10-31 01:00:00 +02:00' AS TIMESTAMPTZ)
duckdb	SELECT CAST('2024-01-01' AS TIMESTAMP) + INTERVAL 1 DAY - (CAST('2024-01-01' AS TIMESTAMP) + INTERVAL 1 DAY)
duckdb	SELECT CAST(CAST('2024-01-15 14:30:00' AS TIMESTAMP) AS TIME)
duckdb	SELECT CAST(MAKE_DATE(2026, 1, 1) + INTERVAL (NULL - 1) MONTH + INTERVAL (100 - 1) DAY AS DATE)
duckdb	SELECT CAST(TIME_BUCKET(INTERVAL 1 WEEK, CAST('2024-03-15' AS DATE), CAST('1969-12-29' AS DATE)) + INTERVAL 1 WEEK AS DATE)
duckdb	SELECT CAST(w AS TIMESTAMP_S), CAST(x AS TIMESTAMP_MS), CAST(y AS TIMESTAMP), CAST(z AS TIMESTAMP_NS)
duckdb	SELECT COALESCE(a, NULL, -1) > 0 AS gt FROM x
duckdb	SELECT COLUMNS('(id|numbers?)') FROM numbers
duckdb	SELECT COUNT(*) FILTER(WHERE FALSE) AS count_value, SUM(a) FILTER(WHERE NULL) AS null_sum, SUM(a) FILTER(WHERE a > 1) AS sum_value FROM x
duckdb	SELECT COUNT(t.*) FILTER (WHERE b > 0) FROM t
duckdb	SELECT DATE_ADD(d, INTERVAL (-n) MONTH) FROM t
duckdb	SELECT DATE_DIFF('WEEK', DATE_TRUNC('WEEK', CAST('2024-01-06' AS DATE) + INTERVAL '1' DAY), DATE_TRUNC('WEEK', CAST('2024-01-07' AS DATE) + INTERVAL '1' DAY))
duckdb	SELECT DATE_TRUNC(a, MONTH) AS a FROM x
duckdb	SELECT EPOCH(STRPTIME('2016-1-1', '%Y-%-m-%-d'))
duckdb	SELECT EXTRACT(ISODOW FROM CAST('2026-01-06 11:45:00' AS TIMESTAMP))
duckdb	SELECT FLATTEN([[1, NULL, 3], [4]])
duckdb	SELECT INTERVAL '1 hour'::VARCHAR
duckdb	SELECT JSON_GROUP_OBJECT(k, v) FROM t
duckdb	SELECT LEAD(x, 1, 0 IGNORE NULLS) OVER (ORDER BY t NULLS FIRST)
duckdb	SELECT LIST_SORT(x, 'DE' || 'SC')
duckdb	SELECT MAKE_TIME(12, 34, 56)
duckdb	SELECT MAX_BY(a.id, a.timestamp) FROM a
duckdb	SELECT NTH_VALUE(x, 2) OVER (ORDER BY y) AS c FROM t
duckdb	SELECT QUANTILE_CONT(x, q) FROM t
duckdb	SELECT REGEXP_EXTRACT_ALL(s, 'pattern', 0, 'i')
duckdb	SELECT ROUND(CEIL(1.753 * POWER(10, 2)) / POWER(10, 2), 2)
duckdb	SELECT STDDEV_SAMP(a) FROM test
duckdb	SELECT STRPTIME('1970 ' || 'Thu Dec 25 07:30:00 2008', '%Y ' || '%a %b %-d %I:%M:%S %Y')
duckdb	SELECT SUM(DISTINCT x)
duckdb	SELECT SUM(x) FILTER(WHERE x > 1)
duckdb	SELECT SUM(x.a) + (SELECT MAX(y.b) AS b FROM y) AS total FROM x
duckdb	SELECT TIME_BUCKET(INTERVAL 1 DAY, CAST('2024-03-15' AS DATE), CAST('1970-01-01' AS DATE))
duckdb	SELECT TRUE AS a FROM x GROUP BY 1
duckdb	SELECT VAR_POP(current_salary)
duckdb	SELECT _0.a AS a FROM (SELECT x.a AS a FROM x AS x UNION ALL SELECT x.a AS a FROM x AS x) AS _0
duckdb	SELECT _0.c1 AS c1, _0.c2 AS c2 FROM VALUES ((1, 1), (2, 2)) AS _0(c1, c2)
duckdb	SELECT a -> 'it''s' FROM t
duckdb	SELECT a FROM (SELECT * FROM aa UNION ALL SELECT * FROM bb UNION ALL SELECT * from cc)
duckdb	SELECT a FROM (SELECT b FROM (SELECT c FROM x))
duckdb	SELECT a FROM test TABLESAMPLE (0.1 PERCENT)
duckdb	SELECT a FROM x CROSS JOIN UNNEST([y]) AS t(a)
duckdb	SELECT a FROM x WHERE b = (SELECT c FROM y WHERE y.a = x.a)
duckdb	SELECT a, SUM(c) / (SELECT SUM(c) FROM y) * 100 AS foo FROM y INNER JOIN x ON y.b = x.b GROUP BY a
duckdb	SELECT a, c FROM (SELECT a, c FROM x JOIN y ON x.b = y.b)
duckdb	SELECT a['1'], b[0], x.c[0], "x".d['1'] FROM x
duckdb	SELECT baz FROM (SELECT 1 AS foo, 2 AS bar UNION BY NAME SELECT 3 AS bar, 4 AS baz) AS t ORDER BY baz
duckdb	SELECT c = NOT (a < b) AS result FROM comparisons ORDER BY a, b, c
duckdb	SELECT cola, colb FROM (VALUES (1, 'test'), (2, 'test2')) AS tab(cola, colb)
duckdb	SELECT foo * 2 AS bar FROM (SELECT (1 + 2 + 3) AS foo FROM x)
duckdb	SELECT i.a FROM x AS i LEFT JOIN (SELECT a, b FROM (SELECT a, b FROM x)) AS j ON i.a = j.a
duckdb	SELECT next, transform, if
duckdb	SELECT piv.* FROM (SELECT id, jan, feb FROM unpivotable) UNPIVOT(revenue FOR month IN (jan, feb)) AS piv
duckdb	SELECT r.v AS v, r.idx AS idx FROM t AS t, LATERAL UNNEST(t.a) WITH ORDINALITY AS r(v, idx)
duckdb	SELECT s.a AS a, s.c AS c FROM (SELECT x.a AS a, y.c AS c FROM x AS x CROSS JOIN y AS y) AS s
duckdb	SELECT s.value FROM C.DB.t AS T, LATERAL SPLIT_TO_TABLE(t.a, '.') AS s(SEQ, INDEX, VALUE)
duckdb	SELECT student, score FROM tests LATERAL VIEW EXPLODE(scores) t AS score
duckdb	SELECT t.a FROM (SELECT a FROM x) AS t
duckdb	SELECT t.c AS c FROM x AS x LATERAL VIEW EXPLODE(x.a) t AS c
duckdb	SELECT t.s FROM (SELECT a, b, SUM(b) AS s FROM x GROUP BY ALL a, b) t
duckdb	SELECT u.v AS v, x.a AS a, x.b AS b FROM UNNEST(ARRAY(1, 2)) AS u(v) CROSS JOIN x AS x
duckdb	SELECT x AS x, a AS a, x.a AS a FROM UNNEST([STRUCT(1 AS a)]) AS x CROSS JOIN m AS m
duckdb	SELECT x FROM y JOIN z ON TRUE
duckdb	SELECT x.a + 1 AS i, x.a + 1 + 1 AS j, x.a + 1 + 1 + 1 AS k FROM x AS x
duckdb	SELECT x.a AS a FROM x AS x JOIN (SELECT y.b AS b FROM y AS y) AS z ON x.b = z.b
duckdb	SELECT x.a AS a, w.d AS d FROM x AS x NATURAL LEFT JOIN w AS w
duckdb	SELECT x.a AS a, y.c AS c FROM x AS x TABLESAMPLE SYSTEM (10 ROWS) CROSS JOIN y AS y TABLESAMPLE SYSTEM (10 ROWS)
duckdb	SELECT x.a FROM (SELECT x.a AS a, x.b AND x.c AS d FROM x WHERE NOT x.b OR NOT x.c) AS x WHERE TRUE
duckdb	SELECT x.a FROM x LEFT JOIN (SELECT y.a AS _u_1 FROM y WHERE TRUE AND TRUE GROUP BY y.a) AS _u_0 ON _u_0._u_1 = x.a AND _u_0._u_1 > x.c WHERE NOT _u_0._u_1 IS NULL
duckdb	SELECT x.a FROM x WHERE EXISTS (SELECT COUNT(*) OVER () FROM y WHERE y.a = x.a GROUP BY ALL)
duckdb	SELECT x.a, p.sid FROM x JOIN (SELECT sid FROM UNNEST([STRUCT('a' AS sid), STRUCT('b')])) AS p ON x.a = p.sid
duckdb	SELECT x.a, z.b FROM x JOIN z ON x.b = z.b FULL JOIN y ON x.b = y.b WHERE z.b = 3
duckdb	SELECT x.b AS b, y.b AS b2 FROM x AS x INNER JOIN y AS y ON x.b = y.b
duckdb	SELECT x.b, SUM(MAX(_u_0.b)) OVER () AS total FROM x CROSS JOIN (SELECT MAX(y.b) AS b FROM y) AS _u_0 GROUP BY x.b ORDER BY x.b
duckdb	SELECT y.b AS b FROM ((SELECT x.a AS a FROM x AS x) AS _0 INNER JOIN y AS y ON _0.a = y.b)
duckdb	SELECT {'y': ARRAY(SELECT {'b': 1} FROM x)} FROM z
duckdb	WITH RECURSIVE t(c, d) AS (SELECT x.a AS c, x.b AS d FROM x AS x UNION ALL SELECT y.b AS c, y.c AS d FROM y AS y) SELECT t.c AS c FROM t AS t
duckdb	WITH a AS (SELECT 1 FROM z) SELECT 1 FROM a CROSS JOIN a
duckdb	WITH c AS (WITH b AS (WITH a1 AS (SELECT 1), a2 AS (SELECT 2) SELECT * FROM a1, a2) SELECT * FROM b) SELECT * FROM c
duckdb	WITH cte AS (SELECT col FROM t) SELECT IF(1 IN UNNEST(col), 1, 0) AS col FROM cte
duckdb	WITH my_cte AS (SELECT 'a' AS desc) SELECT desc AS description FROM my_cte
duckdb	WITH t AS (SELECT 1 AS c) SELECT TO_JSON_STRING(t) AS _col_0 FROM t AS t
duckdb	WITH t AS (SELECT a AS k, b AS v FROM x FULL UNION ALL BY NAME (SELECT b AS k, c AS w FROM y FULL UNION ALL BY NAME (SELECT c AS k, b AS u FROM z))) SELECT k, v, w, u FROM t
duckdb	WITH t1 AS (SELECT 1 AS id), t2 AS (SELECT 2 AS id) SELECT STRUCT(id) AS my_field FROM t1 JOIN t2 USING (id)
mysql	SELECT "_t0"."n" AS "n" FROM GENERATE_SERIES(1, 10) AS "_t0"("n")
mysql	SELECT (-1) * col AS col FROM t1 LEFT JOIN t2 USING (id) ORDER BY CASE WHEN (-1) * col IS NULL THEN 1 ELSE 0 END, (-1) * col
mysql	SELECT * EXCEPT(a) FROM x
mysql	SELECT * FROM ((tbl1 AS tbl1 JOIN tbl2 AS tbl2 ON id1 = id2 JOIN tbl3 AS tbl3 ON id1 = id3)) AS _0
mysql	SELECT * FROM (SELECT a AS k, a AS k FROM x) AS s
mysql	SELECT * FROM a STRAIGHT_JOIN b
mysql	SELECT * FROM t1, (SELECT * FROM t2) AS sub, t3
mysql	SELECT * FROM x JOIN unpivotable UNPIVOT(revenue FOR month IN (jan, feb)) AS u ON x.a = u.id
mysql	SELECT * FROM x WHERE (A AND B) OR C
mysql	SELECT * FROM x WHERE x.a = SUM(SELECT 1)
mysql	SELECT -(x.a > x.b) FROM x
mysql	SELECT 1 AS z FROM (SELECT * FROM t) c WHERE z > 0
mysql	SELECT 2 * CAST(x.b AS DOUBLE) AS bar FROM x AS x
mysql	SELECT CASE 1 WHEN 1 THEN MAP('a', 'b') ELSE MAP('b', 'c') END['a']
mysql	SELECT CAST(a AS DECIMAL(1, 2)) FROM test
mysql	SELECT COALESCE(offset, 1)
mysql	SELECT COUNT(1) FROM test
mysql	SELECT DATE_FORMAT('2017-06-15', '%d')
mysql	SELECT EXISTS (SELECT 1 WHERE TRUE) AS ref0 FROM t1, t0 GROUP BY t0.c2
mysql	SELECT LEAD(a, 1, b) OVER (PARTITION BY a ORDER BY a) AS x
mysql	SELECT RANK() OVER () AS y FROM x
mysql	SELECT SUM(a) FROM test
mysql	SELECT SUM(x.a) AS total FROM x WHERE x.a = (SELECT MAX(y.b) AS b FROM y)
mysql	SELECT ["_t0"."a", "_t0"."b"] AS "_col_0" FROM "c"."db"."x" AS "_t0"
mysql	SELECT _1.id FROM c.db.deal AS _0, JSONB_TO_RECORDSET(CAST(_0.type AS JSONB)) AS _1(id INT, key VARCHAR, text VARCHAR)
mysql	SELECT a AS j, b FROM x ORDER BY j
mysql	SELECT a FROM test ORDER BY a > 1
mysql	SELECT a FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.b = x.b)
mysql	SELECT a, b FROM x UNION BY NAME SELECT b, c FROM z
mysql	SELECT c + d AS e FROM (SELECT a + b AS c, a AS d FROM x)
mysql	SELECT d FROM (SELECT d, ROW_NUMBER() OVER (PARTITION BY e ORDER BY d) AS rn FROM w)
mysql	SELECT n, off FROM UNNEST([10, 20, 30]) AS n WITH OFFSET AS off
mysql	SELECT r.v, r.idx FROM t, LATERAL UNNEST(t.a) WITH ORDINALITY AS r(v, idx)
mysql	SELECT t.a FROM (SELECT a, b FROM x UNION ALL SELECT a, b FROM x LIMIT 3) AS t
mysql	SELECT x AS v, ROW_NUMBER() OVER (ORDER BY CASE WHEN v IS NULL THEN 1 ELSE 0 END, v) AS rn FROM t
mysql	SELECT x.a + 1 AS d FROM x AS x WHERE (x.a + 1) > 1
mysql	SELECT x.a AS a, SUM(x.b) AS b FROM x AS x GROUP BY x.a ORDER BY b
mysql	SELECT x.a FROM (SELECT * FROM x) AS x JOIN y ON x.a = y.a WHERE TRUE
mysql	SELECT x.a FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.a = x.a AND y.b > x.b)
mysql	SELECT x.a, y.b FROM x RIGHT JOIN (SELECT b FROM y WHERE b = 3) AS y ON x.a = y.b WHERE TRUE
mysql	SELECT x.b FROM x JOIN y USING (b)
mysql	SELECT z.b AS b FROM x AS y1 JOIN z AS z ON EXISTS(SELECT 1 AS "1" FROM x AS x3 WHERE x3.a < z.b) CROSS JOIN z AS outer_z
mysql	WITH a AS ((SELECT 1 AS b) UNION ALL (SELECT 1 AS b)) SELECT * FROM a
mysql	WITH cte AS (SELECT a * b AS c, a AS d FROM x) SELECT c + d AS e FROM cte
mysql	WITH t AS (SELECT 1 AS "Id", 2 AS "Jan", 3 AS "Feb", 4 AS "Nor", 5 AS "Sou") SELECT * FROM t UNPIVOT(v1 FOR n1 IN ("Jan", "Feb")) UNPIVOT(v2 FOR n2 IN ("Nor", "Sou"))
mysql	WITH t1 AS (SELECT a FROM x), t2 AS (SELECT b FROM y) SELECT t1.a, t2.b FROM t1 JOIN t2 ON t1.a = t2.b
mysql	WITH x2 AS (SELECT COALESCE(a) AS a FROM x LEFT JOIN y ON x.a = y.b) SELECT a FROM (SELECT a FROM x2 AS x) AS x
mysql	WITH z AS (SELECT x.a AS a, x.b AS b FROM x AS x) SELECT z.a AS a, z.b AS b FROM z AS z UNION SELECT z.a AS a, z.b AS b FROM z AS z ORDER BY a, b
postgres	SELECT "_t0"."a" + 1 AS "_col_0" FROM "c"."db"."x" AS "_t0"
postgres	SELECT "_t0"."nested_0"."nested_1"."a_2" AS "a_2" FROM "c"."db"."structs" AS "_t0"
postgres	SELECT "x"."a" AS "a" FROM "x" AS "x" WHERE 1 <> 0
postgres	SELECT '{"a":1, "b":2, "c":3}'::jsonb ?| array['b', 'c']
postgres	SELECT (NOT "x"."a" > 0) = ("x"."b" > 0) AS "c" FROM "x" AS "x"
postgres	SELECT (x.a + x.b) * 1 AS c1, (x.a + x.b) * 2 AS c2, (x.a + x.b) * 3 AS c3 FROM x AS x
postgres	SELECT * FROM ((((tbl AS tbl)))) AS _0
postgres	SELECT * FROM ((SELECT c FROM t1) CROSS JOIN t2)
postgres	SELECT * FROM (SELECT * FROM c.db.t AS _0) AS _1
postgres	SELECT * FROM (SELECT 1 AS foo, 2 AS bar FULL UNION ALL BY NAME ON (foo, bar) SELECT 3 AS bar, 4 AS baz)
postgres	SELECT * FROM (VALUES (1)) AS t1(id) CROSS JOIN (VALUES (1)) AS t2(id)
postgres	SELECT * FROM (tbl1, tbl2 JOIN tbl3 ON TRUE)
postgres	SELECT * FROM a LEFT JOIN b INNER JOIN c ON c.id = b.id ON b.id = a.id
postgres	SELECT * FROM information_schema.tables
postgres	SELECT * FROM t, LATERAL UNNEST(t.a) WITH ORDINALITY AS r
postgres	SELECT * FROM test ORDER BY id DESC FETCH FIRST 10 ROWS WITH TIES
postgres	SELECT * FROM x FETCH FIRST 1 ROWS ONLY
postgres	SELECT * FROM x LEFT JOIN (SELECT _q.b AS b FROM (SELECT MAX(y.b) AS b FROM y GROUP BY y.a) AS _q GROUP BY _q.b) AS _u_0 ON x.a = _u_0.b WHERE NOT _u_0.b IS NULL
postgres	SELECT * FROM x SEMI JOIN y USING (b) JOIN y USING (b)
postgres	SELECT * FROM x WHERE EXISTS(SELECT COUNT(*) FROM y WHERE y.a = x.a HAVING COUNT(*) = 0)
postgres	SELECT * FROM x WHERE x.a = ANY (SELECT y.a AS a FROM y)
postgres	SELECT * FROM y CROSS JOIN z ON y.b = z.b
postgres	SELECT 0 < COALESCE(a, NULL, -1) AS gt FROM x
postgres	SELECT 1 >= 2 FROM test
postgres	SELECT 1 FROM ((VALUES (1)) AS vals(id) LEFT OUTER JOIN tbl ON vals.id = tbl.id)
postgres	SELECT 1 FROM a RIGHT SEMI JOIN b ON a.x = b.x
postgres	SELECT 2 = ANY(SELECT 2 UNION ALL SELECT 3)
postgres	SELECT A.* EXCEPT A.COL_1, A.COL_2 FROM TABLE_1 A
postgres	SELECT AVG(x) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
postgres	SELECT CASE WHEN c THEN a WHEN b = 1 THEN b ELSE 2 END AS result FROM comparisons
postgres	SELECT CAST(1 AS VARCHAR) AS "a" FROM "w" AS "w"
postgres	SELECT CAST(a AS DECIMAL) FROM test
postgres	SELECT COALESCE(CAST(t1.a AS VARCHAR), '') AS a, t2.* EXCEPT (a) FROM x AS t1, x AS t2
postgres	SELECT COALESCE(x.b, y.b, z.b) AS b FROM x AS x JOIN y AS y ON x.b = y.b JOIN z AS z ON COALESCE(x.b, y.b) = z.b AND y.c = z.c
postgres	SELECT COUNT(*) FILTER(WHERE TRUE) FROM x
postgres	SELECT CURRENT_TIMESTAMP + INTERVAL '-3 MONTH'
postgres	SELECT EXISTS (SELECT 1 WHERE FALSE) AS ref0 FROM t1, t0 GROUP BY t0.c2
postgres	SELECT GENERATE_SERIES(1, 2) AS a, GENERATE_SERIES(11, 13) AS b
postgres	SELECT JSON_AGG(DISTINCT name) FROM users
postgres	SELECT LAG(1) OVER (ORDER BY 1)
postgres	SELECT MAKE_INTERVAL(years => 1, months => 2, weeks => 3, DAYS => 4, hours => 5, mins => 6, secs => 7.5)
postgres	SELECT NOT NOT NOT NOT t_bool.a FROM t_bool
postgres	SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x) AS x FROM t
postgres	SELECT ROW_NUMBER() OVER (PARTITION BY x.a ORDER BY x.b) AS row_num FROM x AS x QUALIFY ROW_NUMBER() OVER (PARTITION BY x.a ORDER BY x.b) = 1
postgres	SELECT SUM(x) OVER (ORDER BY b WITH FILL, c) FROM t
postgres	SELECT SUM(x.a) AS a FROM x AS x ORDER BY SUM(x.a)
postgres	SELECT TO_TIMESTAMP('05 Dec 2000 10:00 AM', 'DD Mon YYYY HH:MI AM')
postgres	SELECT VARIANCE_POP(a) FROM test
postgres	SELECT _0.a AS a FROM (SELECT x.a AS a FROM x AS x) AS _0
postgres	SELECT _0.d AS d FROM (SELECT INLINE(w.e) AS col, w.d AS d FROM w AS w) AS _0
postgres	SELECT a /* sqlglot.meta case_sensitive */, B FROM table /* sqlglot.meta case_sensitive */
postgres	SELECT a FROM (SELECT * FROM aa CROSS JOIN bb)
postgres	SELECT a FROM (SELECT b FROM (SELECT c FROM x) AS y) AS z
postgres	SELECT a FROM test PIVOT(SUM(x) FOR y IN ('z', 'q')) UNPIVOT(x FOR y IN (z, q)) AS x
postgres	SELECT a FROM x GROUP BY a HAVING SUM(b)
postgres	SELECT a FROM x WHERE b IN (SELECT b FROM y AS x)
postgres	SELECT a, SUM(b) FROM x WHERE a > 1 AND b > 1 GROUP BY a
postgres	SELECT a, c FROM (SELECT q.a, q.b FROM x AS q) AS x JOIN y AS q ON x.b = q.b
postgres	SELECT b FROM (SELECT b FROM (SELECT b FROM x JOIN (SELECT b FROM y) AS y ON x.b = y.b))
postgres	SELECT c <> NOT (a < b) AS result FROM comparisons ORDER BY a, b, c
postgres	SELECT c FROM (SELECT 1 a) AS x LATERAL VIEW EXPLODE(a) AS c
postgres	SELECT db1.a.id, db2.a.id FROM db1.a JOIN db2.a ON db1.a.id = db2.a.id
postgres	SELECT i + 1 AS j, x.a + 1 AS i FROM x AS x
postgres	SELECT partition FROM a
postgres	SELECT r.range AS x FROM range(3) AS r ORDER BY SUM(x) OVER ()
postgres	SELECT s.a AS a, s.b AS b, COUNT(*) AS c FROM (SELECT 6 AS a, x.b AS b FROM x AS x) AS s GROUP BY (s.a, s.b) ORDER BY b
postgres	SELECT s.t FROM s WHERE 1 IN (SELECT MAX(t.a) + 1 AS t1 FROM t)
postgres	SELECT student, score FROM tests LATERAL VIEW OUTER EXPLODE(scores) t AS score, name
postgres	SELECT t.c1 AS c1, t.c3 AS c3 FROM FOO(bar) AS t(c1, c2, c3)
postgres	SELECT t.x, y.z FROM x LEFT JOIN LATERAL a.b.tvfTest(t.x) AS y(z) ON TRUE
postgres	SELECT unp FROM (SELECT 7 AS unp, 1 AS a, 2 AS b) UNPIVOT(v FOR k IN (a, b)) AS unp
postgres	SELECT x AS x, offset AS offset FROM UNNEST([1, 2]) AS x WITH OFFSET AS offset
postgres	SELECT x FROM y FULL OUTER JOIN z ON TRUE
postgres	SELECT x.a AS a FROM x AS x JOIN (SELECT * FROM y AS y WHERE y.a = 1) AS y ON x.a = y.a AND TRUE WHERE x.a = 1 AND TRUE AND x.b = 1 AND TRUE
postgres	SELECT x.a AS a, SUM(x.b) AS c, SUM(SUM(x.b)) OVER (PARTITION BY x.a) AS d FROM x AS x GROUP BY x.a ORDER BY a
postgres	SELECT x.a AS a, y.c AS c FROM x AS x JOIN y AS y ON x.b = y.b
postgres	SELECT x.a FROM (SELECT x.a AS a, x.b * 1 AS c FROM x WHERE (x.b * 1) = 1) AS x WHERE TRUE
postgres	SELECT x.a FROM x LEFT JOIN (SELECT DISTINCT t.b FROM (VALUES ('1'), ('01')) AS t(b)) AS y ON x.a = CAST(y.b AS INT) ORDER BY x.a
postgres	SELECT x.a FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.a = x.a ORDER BY y.c)
postgres	SELECT x.a, COALESCE(x.a < 1 AND x.a > 3, TRUE) AS r FROM x
postgres	SELECT x.a, y.c FROM (SELECT a FROM x) AS x, (SELECT c FROM y) AS y
postgres	SELECT x.b AS b, y.b AS b2 FROM (SELECT x.b AS b FROM x AS x) AS x INNER JOIN (SELECT y.b AS b FROM y AS y) AS y ON x.b = y.b
postgres	SELECT x.b, SUM((SELECT MAX(y.b) AS b FROM y)) FILTER(WHERE x.b > 1) OVER () AS total FROM x GROUP BY x.b ORDER BY x.b
postgres	SELECT x_2.b AS b FROM x AS x JOIN x AS x_2 ON x.b = x_2.b
postgres	SELECT zz.a AS a FROM zz AS zz GROUP BY zz.a ORDER BY a
postgres	WITH RECURSIVE t(c, d) AS (SELECT a, b FROM x) SELECT c FROM t
postgres	WITH a AS (SELECT 1) SELECT 1 INTERSECT SELECT 2
postgres	WITH cte AS (SELECT * FROM c.db.t AS _0) SELECT * FROM cte AS _1 PIVOT(SUM(c) FOR v IN ('x', 'y')) AS _2
postgres	WITH cte(foo) AS (SELECT 1, 2) SELECT foo FROM cte
postgres	WITH one AS (SELECT 1 AS x) SELECT one.x AS x FROM structs AS structs CROSS JOIN one AS one
postgres	WITH t AS (SELECT 1 AS c) SELECT t FROM t
postgres	WITH t AS (SELECT x.a AS a, x.b AS b FROM x AS x) SELECT t1.r AS r, t2.p AS p FROM t AS t1(q, r) CROSS JOIN t AS t2(p)
postgres	WITH t2 AS (SELECT t1.c1 FROM UNNEST((SELECT ARRAY(x.a) FROM x)) AS t1(c1)) SELECT t2.c1 FROM t2
postgres	WITH x AS (SELECT a, b, 0 AS c, SUM(d) AS s FROM t GROUP BY 1, 2, 3) SELECT a, s FROM x
postgres	WITH y AS (SELECT *) SELECT * FROM x AS x
postgres	WITH z AS ((SELECT x.b AS b FROM x AS x UNION ALL SELECT y.b AS b FROM y AS y) ORDER BY b) SELECT z.b AS b FROM z AS z
postgres	with cte1 as (SELECT cola, colb FROM tb UNION ALL SELECT colc, cold FROM tb2) SELECT cola FROM cte1
redshift	SELECT "SNAPSHOT", "type"
redshift	SELECT (TIMESTAMP 'epoch' + 1659981729 * INTERVAL '1 SECOND')
redshift	SELECT * FROM (SELECT 1 AS x UNION ALL SELECT 2) AS t PIVOT(SUM(x) FOR x IN (1))
redshift	SELECT * FROM t1 CROSS JOIN "t1" AS "col"
redshift	SELECT 1 AS EXCLUDE, 2 AS foo
redshift	SELECT ARRAY(1, 2, 3)
redshift	SELECT CAST('2020-02-02 01:03:05.124' AS TIMESTAMP(2) WITH TIME ZONE)
redshift	SELECT DATEADD('day', ndays, caldate)
redshift	SELECT DATEADD(month, 18, '2008-02-28')
redshift	SELECT DATEDIFF(week, '2009-01-01', '2009-12-31')
redshift	SELECT DECODE(a, 1, 'one', 'default')
redshift	SELECT EXTRACT(MINUTE FROM CAST('2023-01-04 04:05:06.789' AS TIMESTAMP))
redshift	SELECT JSON_EXTRACT_PATH_TEXT('{"f2":{"f3":1},"f4":{"f5":99,"f6":"star"}', 'f4', 'f6', TRUE)
redshift	SELECT LAG(x) RESPECT NULLS OVER (PARTITION BY y ORDER BY z)
redshift	SELECT SNAPSHOT, type
redshift	SELECT ST_ASEWKT(CAST(ST_GEOMFROMEWKT('SRID=4326;POINT(10 20)') AS GEOGRAPHY))
redshift	SELECT TO_CHAR(foo, bar)
redshift	SELECT attr AS attr, JSON_TYPEOF(val) AS value_type FROM customer_orders_lineitem AS c, UNPIVOT c.c_orders AS val AT attr WHERE c_custkey = 9451
redshift	SELECT col IS NULL::BOOLEAN FROM (SELECT 1 AS col) AS t
redshift	SELECT date_col - INTERVAL '30' FROM t
snowflake	SELECT "c0", "c1" FROM (VALUES (1, 2), (3, 4)) AS "t0"("c0", "c1")
snowflake	SELECT * FROM TABLE(:BINDING)
snowflake	SELECT * FROM t1 AT (TIMESTAMP => '2024-01-01'::TIMESTAMP) AS a
snowflake	SELECT ADD_MONTHS(CAST('2016-05-15' AS DATE), 0)
snowflake	SELECT ARRAY_DISTINCT([1, 2, 2, 3, 1])
snowflake	SELECT BITMAP_CONSTRUCT_AGG(v) FROM t
snowflake	SELECT CAST(a AS TIMESTAMPLTZ(9))
snowflake	SELECT CURRENT_ROLE()
snowflake	SELECT DATE_PART(EPOCH_MILLISECOND, CURRENT_TIMESTAMP()) AS a
snowflake	SELECT DECODE(tbl.col, 'some_string', 'foo')
snowflake	SELECT FLOOR(1.234, 1.5)
snowflake	SELECT JSON_EXTRACT_PATH_TEXT('{"name": "Jakob", "age": "6"}', 'age')
snowflake	SELECT MONTHNAME(CAST('2025-01-15' AS DATE))
snowflake	SELECT PREVIOUS_DAY(TIMESTAMP '2024-01-15 10:30:45', 'Monday')
snowflake	SELECT ROUND(2.256, CAST(1.8 AS DECIMAL(38, 0))) AS value
snowflake	SELECT SUM(x) OVER (PARTITION BY p ORDER BY d NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) FROM t
snowflake	SELECT TIME_SLICE(CAST('2024-05-09 08:50:57.891' AS TIMESTAMP), 1, 'HOUR', 'start')
snowflake	SELECT TO_TIMESTAMP('2013-04-05 01:02:03')
snowflake	SELECT VECTOR_L2_DISTANCE(a, b)
snowflake	SELECT id, MAP_SIZE(attrs) AS attr_count FROM demo_maps
sqlite	SELECT "_t0"."a" AS "a", "_t0"."b" AS "b", COUNT(*) AS "_col_2" FROM "c"."db"."x" AS "_t0" GROUP BY "_t0"."a", "_t0"."b"
sqlite	SELECT "x"."a" AS "a" FROM "x" AS "x" GROUP BY "x"."a" HAVING SUM("x"."b") <> 0 AND TRUE
sqlite	SELECT * EXCEPT (a, b) REPLACE (x.a AS a) FROM x AS x
sqlite	SELECT * FROM ((SELECT 1))
sqlite	SELECT * FROM (SELECT * FROM c.db.tbl1 AS tbl1 JOIN c.db.tbl2 AS tbl2 ON id1 = id2 JOIN c.db.tbl3 AS tbl3 ON id1 = id3) AS _0
sqlite	SELECT * FROM (x CROSS JOIN foo LATERAL VIEW EXPLODE(y))
sqlite	SELECT * FROM foo /* x */, bla /* x */
sqlite	SELECT * FROM tbl GROUP BY GROUPING SETS ((a + 1, b * 1), c, CUBE (a, b), ROLLUP (c, d), (a + y, b * 1), ())
sqlite	SELECT * FROM x CROSS JOIN y SEMI JOIN z ON x.a = z.a OR y.a = x.a
sqlite	SELECT * FROM x LEFT JOIN y ON y.a = 1 JOIN z ON x.a = z.a AND y.a = z.a
sqlite	SELECT * RENAME (a AS new_a) FROM x
sqlite	SELECT 1 - 1 FROM test
sqlite	SELECT 1 AS z, z + 1 AS w FROM (SELECT * FROM t) c
sqlite	SELECT 1 FROM c.y.z AS z
sqlite	SELECT 6 AS a, SUM(y.b) AS b FROM y AS y CROSS JOIN unknown_tbl AS unknown_tbl GROUP BY 1 ORDER BY a
sqlite	SELECT CASE WHEN "_t0"."a" > 0 THEN "_t0"."b" ELSE "_t0"."a" END AS "_col_0" FROM "c"."db"."x" AS "_t0"
sqlite	SELECT CAST(a AS DATETIME) FROM test
sqlite	SELECT COALESCE(a, NULL, 1) = 1 AS eq FROM x
sqlite	SELECT COUNT(*) FILTER (WHERE FALSE) AS count_value, SUM(a) FILTER (WHERE NULL) AS null_sum, SUM(a) FILTER (WHERE a > 1 AND TRUE) AS sum_value FROM x
sqlite	SELECT DATE('now', 'start of year', '+9 months', 'weekday 2')
sqlite	SELECT DISTINCT ON (new_col, t1.b + 1, new_col) t1.a AS new_col FROM x AS t1 ORDER BY new_col
sqlite	SELECT GROUP_CONCAT(x ORDER BY y)
sqlite	SELECT MAX(ARRAY(1, 2, 3)) FROM x
sqlite	SELECT OBJECT_CONSTRUCT(*) AS _COL_0 FROM (SELECT X.A AS A, X.B AS B FROM X AS X) AS T
sqlite	SELECT STDDEV(a) FROM test
sqlite	SELECT SUM(r.range) AS x FROM range(3) AS r HAVING x > 1
sqlite	SELECT SUM(x.a) AS c FROM x AS x HAVING SUM(x.a) > 3
sqlite	SELECT X(a -> a + ("z" - 1))
sqlite	SELECT _0.bar AS bar FROM (SELECT 1 AS foo, 2 AS bar INNER UNION ALL BY NAME SELECT 3 AS bar, 4 AS baz) AS _0
sqlite	SELECT `_t0`.`id` AS `id`, `_c0` AS `u` FROM `c`.`db`.`t` AS `_t0` CROSS JOIN UNNEST(`_t0`.`arr`) AS `_c0`
sqlite	SELECT a AS b FROM x ORDER BY b
sqlite	SELECT a FROM (SELECT a, b FROM x UNION ALL SELECT a, b FROM x)
sqlite	SELECT a FROM test TABLESAMPLE (BUCKET 1 OUT OF 5 ON RAND())
sqlite	SELECT a FROM x UNION SELECT a FROM x UNION SELECT a FROM x ORDER BY a
sqlite	SELECT a, SUM(b) AS b FROM x GROUP BY a ORDER BY SUM(b)
sqlite	SELECT a, c FROM (x LEFT JOIN y ON a = c) AS t
sqlite	SELECT b FROM x NATURAL JOIN y
sqlite	SELECT c = NOT (a <> b) AS result FROM comparisons ORDER BY a, b, c
sqlite	SELECT g FROM GENERATE_SERIES(1,2) AS g
sqlite	SELECT nn.a = 1 AND nn.a <> 1 AS r FROM nn
sqlite	SELECT r FROM range(3) AS r
sqlite	SELECT s.w FROM (SELECT a, ROW_NUMBER() OVER (ORDER BY a) AS w FROM x) AS s WHERE s.a > 5
sqlite	SELECT t.a AS a, t.s AS s FROM (SELECT x.a AS a, x.b AS b, SUM(x.b) AS s FROM x AS x GROUP BY GROUPING SETS ((1), (2))) AS t
sqlite	SELECT t_bool.a FROM t_bool
sqlite	SELECT w.d FROM w JOIN y ON TRUE SEMI JOIN z ON b > 0
sqlite	SELECT x LIKE '%x%' FROM test
sqlite	SELECT x.a AS a FROM db.x
sqlite	SELECT x.a AS a, SUM(x.b) AS b FROM x AS x WHERE x.a > 1 GROUP BY x.a
sqlite	SELECT x.a AS d FROM x AS x
sqlite	SELECT x.a FROM x INNER JOIN y ON x.a = y.b AND (TRUE) LEFT JOIN (SELECT z.b AS b FROM y AS z WHERE z.b = 2 GROUP BY z.b) AS _u_0 ON y.b = _u_0.b WHERE NOT _u_0.b IS NULL
sqlite	SELECT x.a FROM x WHERE EXISTS (SELECT 1 FROM y WHERE y.a = x.a GROUP BY y.c)
sqlite	SELECT x.a, u.val FROM x AS x JOIN UNNEST(ARRAY(0, 1)) AS u("val") ON u.val < x.a WHERE TRUE
sqlite	SELECT x.b AS b, y.b AS b2 FROM (SELECT x.b AS b FROM x AS x WHERE x.b = 1) AS x LEFT JOIN (SELECT y.b AS b FROM y AS y WHERE y.b = 2) AS y ON x.b = y.b
sqlite	SELECT x.b, SUM(MAX(_u_0.b)) FILTER(WHERE x.b > 1) OVER () AS total FROM x CROSS JOIN (SELECT MAX(y.b) AS b FROM y) AS _u_0 GROUP BY x.b ORDER BY x.b
sqlite	SELECT y.c AS c FROM (SELECT x.a AS c, x.b AS b FROM x AS x) AS y
sqlite	WITH agg AS (SELECT x.a AS a FROM x AS x) SELECT t.n AS n FROM (SELECT COUNT(*) AS n FROM agg AS agg GROUP BY a HAVING a >= 1) AS t
sqlite	WITH cte AS (SELECT a, b FROM x) SELECT COUNT(* EXCLUDE a) FROM cte
sqlite	WITH out AS (SELECT 1 AS c) SELECT * FROM out
sqlite	WITH t AS (SELECT a AS k FROM x UNION BY NAME (SELECT b AS k FROM y UNION BY NAME ((SELECT c AS k FROM z UNION ALL SELECT b AS k FROM x) ORDER BY k DESC LIMIT 1))) SELECT k FROM t
sqlite	WITH t1(c1) AS (SELECT 1), t2(c2) AS (SELECT 2) SELECT (SELECT c1 FROM t2) FROM t1
sqlite	WITH x(c) AS ((SELECT 1 AS a) HAVING c > 0) SELECT * FROM x
sqlite	WITH y AS (SELECT b FROM x) SELECT a FROM y AS y CROSS JOIN y AS z
sqlite	select x, a, x.a from unnest([STRUCT(1 AS a)]) as x CROSS JOIN m
trino	SELECT "1_a" AS a FROM test_table
trino	SELECT * FROM UNNEST(SEQUENCE(CAST('2020-01-01' AS DATE), CAST('2020-02-01' AS DATE), (1 * INTERVAL '7' DAY)))
trino	SELECT * FROM foo FOR TIMESTAMP AS OF CAST('2020-01-01 00:00:00' AS TIMESTAMP) AS bar
trino	SELECT * FROM x AS foo TABLESAMPLE BERNOULLI (1)
trino	SELECT APPROX_DISTINCT(a) FROM foo
trino	SELECT ARRAY_POSITION(ARRAY[1, 2, 3], 2)
trino	SELECT BITWISE_XOR(x, 1)
trino	SELECT CAST(ARRAY[1, 23, 456] AS JSON)
trino	SELECT CONCAT_WS('-', CAST(NULL AS ARRAY(VARCHAR)))
trino	SELECT DATE_ADD('MONTH', 20, col)
trino	SELECT DATE_TRUNC('MONTH', TRY_CAST(ds AS TIMESTAMP))
trino	SELECT IF(1 = 0, NULL, 1) AS NIZ1
trino	SELECT JSON_PARSE('{"a": 1}')
trino	SELECT LOWER(TO_HEX(MD5(some_string)))
trino	SELECT REPEAT(' ', 2)
trino	SELECT TIME '01:02:03.456'
trino	SELECT TRIM('!' FROM '!foo!')
trino	SELECT a FROM test TABLESAMPLE SYSTEM (75)
trino	SELECT a, b FROM x CROSS JOIN UNNEST(y, z) AS t(a, b)
trino	SELECT origin_state, destination_state, origin_zip, SUM(package_weight) FROM shipping GROUP BY ALL CUBE (origin_state, destination_state), ROLLUP (origin_state, origin_zip)
